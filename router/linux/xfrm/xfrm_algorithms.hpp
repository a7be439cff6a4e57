// The kernel's algorithms (net/xfrm/xfrm_algo.c: canonical names) as ESP's transforms. Pure,
// thread-safe.
#pragma once

#include <string>

#include "router/linux/xfrm/xfrm_decode.hpp"

namespace hecto::router {

// The attributes' payloads; empty: not there.
struct XfrmAlgorithms {
  Bytes aead, cipher, integrity, truncated;
};
// Fills transform and keys from XFRMA_ALG_*; kIgnored where there are none.
XfrmDecoded read_algorithms(const XfrmAlgorithms& from, SaState& out, std::string& why);

}  // namespace hecto::router
