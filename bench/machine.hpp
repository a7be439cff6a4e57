// What a result has to name: the processor it was measured on.
#pragma once

#include <string>

namespace hecto::bench {

std::string machine_name();

}  // namespace hecto::bench
