// Errors of the control path: one line, ready for the operator, with errno where there was one.
#pragma once

#include <cerrno>
#include <string>
#include <tl/expected.hpp>

namespace hecto {

struct Error {
  std::string message;
  int error_number = 0;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string message, int error_number = 0) {
  return tl::unexpected<Error>(Error{std::move(message), error_number});
}

}  // namespace hecto
