// Which hecto this is.
#pragma once

#include <string_view>

namespace hecto {

std::string_view commit() noexcept;              // that it was built of; "unknown" without git
std::string_view version_and_commit() noexcept;  // "0.1.0 (1203eb8c1f)"

}  // namespace hecto
