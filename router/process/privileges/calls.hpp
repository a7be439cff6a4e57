// The lists of system calls, by kind of thread. Names that this CPU has not are passed over.
#pragma once

#include <span>

namespace hecto::router {

// Of the whole process, after its start.
std::span<const char* const> allowed_calls();
// Of a worker and the slow path.
std::span<const char* const> worker_calls();
// Of what reads the API's requests, taken away from the first list.
std::span<const char* const> denied_to_services();
// Nobody here makes them: who does, has taken the process over.
std::span<const char* const> hostile_calls();

}  // namespace hecto::router
