// Words of ours on ssh's command line. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace hecto {

// BOX or USER@BOX, which ssh takes for nothing but a host.
bool is_ssh_host(std::string_view text);

// In single quotes, which every shell of POSIX leaves as it is.
std::string shell_quoted(std::string_view word);

}  // namespace hecto
