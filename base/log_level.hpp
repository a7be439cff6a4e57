// How loud a line of control's is.
#pragma once

#include <cstdint>

namespace hecto {

enum class LogLevel : uint8_t { kInfo, kWarning };

}  // namespace hecto
