// What control does for IPsec: SAs and policies installed, and rekeys while packets flow.
#pragma once

#include <span>

#include "bench/bed/bed.hpp"
#include "bench/ipsec/report.hpp"

namespace hecto::bench {

// `ends`: of the tunnels that are there already when rates are taken. Leaves the router as it was.
Result<IpsecControl> measure_control(Bed& bed, std::span<const router::IpAddress> ends);

}  // namespace hecto::bench
