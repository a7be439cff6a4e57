// What a key does to the view of `hecto top`. Pure.
#pragma once

#include "router/cli/render_top.hpp"
#include "router/cli/top_screen.hpp"

namespace hecto::cli {

// False: it ends.
bool apply_key(const TopEvent& event, TopView& view);

}  // namespace hecto::cli
