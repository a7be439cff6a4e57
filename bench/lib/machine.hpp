// What a result has to name: what it was measured on, and with which program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hecto::bench {

std::string machine_name();  // the processor

// {"name", "host", "kernel", "memory_bytes", "hugepages": {"2048kB": {"free", "all"}}, "load",
// "hecto", "dpdk", "commit"}. "commit" is that of the checkout which holds this program, with
// "-dirty" behind it when files were changed; null when there is none, or no git.
nlohmann::json machine_facts();

}  // namespace hecto::bench
