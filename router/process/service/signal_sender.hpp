// Who sent a signal, in words for the log: "SIGTERM from pid 4711 (systemctl), uid 0".
#pragma once

#include <csignal>
#include <string>

namespace hecto::router {

// Of sigtimedwait(2). The name is left out where /proc does not show the process, or no more.
std::string signal_and_sender(const siginfo_t& info);

}  // namespace hecto::router
