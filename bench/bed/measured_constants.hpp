// Constants of the capacity model as this machine was measured to have them.
#pragma once

#include <string>
#include <vector>

#include "config/box/constants.hpp"

namespace hecto::bench {

struct MeasuredConstants {
  config::Constants constants;
  std::vector<std::string> notes;  // lines: what was seen, what was not measured and why
  std::string source;              // of the constants, in words

  // A value that the constant cannot have becomes a note.
  void set(config::Constant constant, double value);
};

}  // namespace hecto::bench
