// `hecto-bench scale --skew`: most of the traffic in one receive queue, whose worker spreads it over the
// others, beside that worker alone with all of it, before the spread begins: on the same core and queue, in
// one process; medians. What is offered is the most that all carry with no more than 0.1 % of loss.
#pragma once

#include "bench/bed/worker_rate.hpp"
#include "bench/scale/scale.hpp"

namespace hecto::bench {

// On the first so many of the cores, two or more.
int scale_skewed(const ScaleOptions& options, const WorkerCores& cores);

}  // namespace hecto::bench
