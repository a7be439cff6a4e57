// What the help of each verb ends with, and that of hecto itself.
#pragma once

#include <string_view>

namespace hecto::cli {

std::string_view examples_of(std::string_view verb);  // lines; empty: there is no such verb

}  // namespace hecto::cli
