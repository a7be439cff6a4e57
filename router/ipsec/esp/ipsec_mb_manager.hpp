// Managers of ipsec-mb, in key memory: its functions for this CPU, and the jobs in flight with what
// they hold of keys.
//
// A manager is one worker's; mb_functions() is everybody's.
#pragma once

#define NO_COMPAT_IMB_API_053  // its old names are as short as GCM and CBC
#include <intel-ipsec-mb.h>

#include <memory>

namespace hecto::router::esp {

struct ManagerDeleter {
  void operator()(IMB_MGR* manager) const noexcept;
};
using Manager = std::unique_ptr<IMB_MGR, ManagerDeleter>;

// Null: no memory, or a CPU without AES-NI.
Manager make_best_manager();
Manager make_sse_manager();

// For its functions only, which keep nothing in it. Lives as long as the process; null: the CPU has
// no AES-NI.
const IMB_MGR* mb_functions();

// Whether SHA-256 is better done by the SSE code with SHA-NI than by this manager's own, which
// would be AVX2 without it: 1.4 times as fast with CBC on Zen 3.
bool sse_for_sha256(const IMB_MGR& manager) noexcept;

}  // namespace hecto::router::esp
