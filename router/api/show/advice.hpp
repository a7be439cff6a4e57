// What an operator does about packets that are lost for a reason: one sentence each, the only place
// where it stands. What a reason means is its description (base/reason.hpp).
#pragma once

#include <string_view>

#include "base/reason.hpp"

namespace hecto::router {

std::string_view advice(Reason reason) noexcept;

}  // namespace hecto::router
