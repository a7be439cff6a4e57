#include "bench/bed/measured_constants.hpp"

#include <fmt/format.h>

namespace hecto::bench {

void MeasuredConstants::set(config::Constant constant, double value) {
  if (const auto refused = config::refused_value(constant, value)) {
    notes.push_back(fmt::format("{}: measured {:.4g}, which {}; not written",
                                config::info(constant).name, value, *refused));
    return;
  }
  constants.set(constant, value, source);
}

}  // namespace hecto::bench
