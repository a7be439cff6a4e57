// What `hecto --help` and `hecto VERB --help` print.
#pragma once

#include <string>
#include <string_view>

namespace hecto::cli {

// The overview for a verb that is not known or empty.
std::string help(std::string_view verb);

}  // namespace hecto::cli
