// `hecto-bench forward --offload DEVICE`: what a packet costs a worker that has no device (never),
// one whose look-ups all go there (always), and one that decides (auto); flat out and at low load.
// One thread polls the three workers in turn over the same ports; medians.
#pragma once

#include "bench/forward/forward.hpp"

namespace hecto::bench {

int forward_offload_modes(const ForwardOptions& options);

}  // namespace hecto::bench
