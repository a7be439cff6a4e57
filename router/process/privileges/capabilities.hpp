// Capabilities (capabilities(7)) of threads, without libcap: its headers are not needed for three
// calls, and it knows only one thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace hecto::router {

using CapabilitySet = uint64_t;  // a bit for each CAP_…

constexpr CapabilitySet capability(int number) {
  return CapabilitySet{1} << number;
}

CapabilitySet permitted_capabilities();          // of the calling thread
bool keep_capabilities(CapabilitySet) noexcept;  // of the calling thread, no more than it has

// All other threads of the process lose theirs; async signals do it, each in its own thread. An
// error names a thread that has some left.
Result<void> drop_capabilities_of_others();

std::string capability_words(CapabilitySet set);  // "net_admin, net_raw"; "none"

}  // namespace hecto::router
