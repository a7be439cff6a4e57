// What the kernel's scheduler says of one of this process's threads (/proc/self/task/ID/schedstat).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hecto::router {

struct ThreadTime {
  uint64_t ran_ns = 0;
  uint64_t waited_ns = 0;  // ready to run, while something else had the CPU
};

std::optional<ThreadTime> parse_schedstat(std::string_view text) noexcept;
// None: there is no such thread, or a kernel that does not count (CONFIG_SCHED_INFO).
std::optional<ThreadTime> time_of_thread(int id);

}  // namespace hecto::router
