// The header checks by instruction set, and the choice among them: that of the look-ups (LOOKUP_ISA).
// Where there is none for it (of SSE and NEON, which take four lanes, none was faster), the loop of
// classify.hpp looks at each packet.
#pragma once

#include "lookup/kernels.hpp"
#include "router/dataplane/stages/header_job.hpp"

namespace hecto::router {

struct HeaderKernels {
  unsigned lanes;                          // packets in a group
  HeaderKernel run;                        // null: none
  const HeaderKernels* smaller = nullptr;  // for what is less than a group; null: the loop
};

// Without `run` where there is none for it, or this CPU has not that set.
const HeaderKernels& header_kernels_of(lookup::Isa isa) noexcept;
const HeaderKernels& header_kernels() noexcept;  // the chosen ones

extern const HeaderKernels kAvx2Headers;
extern const HeaderKernels kAvx512Headers;

}  // namespace hecto::router
