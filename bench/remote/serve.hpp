// A generator that another box drives over a pipe: the side with the ports (wire.hpp).
//
// A thread reads what is said, so that a trial ends when it is told to, or when nobody listens any more;
// the caller's own does the work.
#pragma once

#include <functional>

#include "bench/traffic/generator.hpp"

namespace hecto::bench {

using MakeGenerator =
    std::function<Result<std::unique_ptr<Generator>>(const TrafficSpec&, const GeneratorOptions&)>;

// Until `in` ends. Both stay open.
int serve_over(int in, int out, const MakeGenerator& make);

// Over standard input and output; what else this process prints there goes to its standard error.
int serve(const MakeGenerator& make);

}  // namespace hecto::bench
