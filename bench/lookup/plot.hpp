// The result as a picture: cycles per look-up, warm, a bar for each engine over each kind of
// destinations, a plot for each family.
#pragma once

#include "bench/lib/plot.hpp"
#include "bench/lookup/result.hpp"

namespace hecto::bench {

Picture picture_of(const LookupResult& result);

}  // namespace hecto::bench
