// Rekeys of a running tunnel, under load in both directions: none of its packets may be lost.
#pragma once

#include "bench/bed/bed.hpp"
#include "bench/ipsec/report.hpp"

namespace hecto::bench {

// Where the bed's workers have cores of their own the first one runs on its own, and control, the
// caller, on that of the last; else the two take turns.
Result<void> measure_rekeys(Bed& bed, const router::IpAddress& far_end, IpsecControl& control);

}  // namespace hecto::bench
