#pragma once

#include <string>

#include "config/file/config.hpp"

namespace hecto::config {

// The file again, every key written out, `auto` as what it stands for where that is known.
std::string to_yaml(const Config& config);

}  // namespace hecto::config
