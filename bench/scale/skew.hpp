// `hecto-bench scale --skew`: most of the traffic in one receive queue, whose worker spreads it over the
// others, beside one worker that has all of it. Both take turns in one process; medians.
#pragma once

#include "bench/bed/worker_rate.hpp"
#include "bench/scale/scale.hpp"

namespace hecto::bench {

// On the first so many of the cores, two or more.
int scale_skewed(const ScaleOptions& options, const WorkerCores& cores);

}  // namespace hecto::bench
