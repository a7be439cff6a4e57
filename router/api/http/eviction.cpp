#include "router/api/http/eviction.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace hecto::router {

std::optional<size_t> choose_victim(std::span<const Held> held) {
  std::map<uid_t, size_t> of_user;
  std::map<std::pair<uid_t, pid_t>, size_t> of_process;
  for (const Held& one : held) {
    ++of_user[one.peer.uid];
    ++of_process[{one.peer.uid, one.peer.pid}];
  }
  // The larger goes first.
  const auto claim = [&](const Held& one) {
    return std::tuple(of_user[one.peer.uid], of_process[{one.peer.uid, one.peer.pid}],
                      -static_cast<int>(one.doing), -one.since_ns);
  };
  std::optional<size_t> victim;
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i].doing == Doing::kAnswering) continue;
    if (!victim || claim(held[i]) > claim(held[*victim])) victim = i;
  }
  return victim;
}

}  // namespace hecto::router
