// What the process gives up once it is started: capabilities, and system calls that it has no need
// of. What it keeps is in README.md of this room, each with its reason.
//
//   start: all that it was given ─► confine() ─► control: kKept      worker, slow path: none, a short
//                                                                    list of calls
//                                                API, log, DPDK's: none
//
// A call that is not on the list gets EPERM and a line in the log; one that only an attacker would
// make (execve, ptrace, modules, kexec, …) ends the process.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::router {

struct Needs {
  bool namespaces = true;  // the Linux side: threads enter its namespace, its name is taken away
  bool devices = true;     // PCI devices and AF_XDP, also those that a reload may bring
};

// From the control thread, when ports and namespace are there and before anything that a stranger
// sends is read. Concerns all threads that are there; those to come are as their parents. Returns
// what was kept, in words for the log. An error: where the kernel has no seccomp, or a thread still
// has more than it should.
Result<std::string> confine(const Needs& needs);

// From a thread of its own kind, and those that it starts; nothing without confine().
void confine_worker() noexcept;   // packets: reads, writes, sleeps, no files, no new sockets
void confine_service() noexcept;  // the API: no namespaces, no BPF, no capabilities

// The names of system calls that were refused since the last call; control says them.
std::vector<std::string> refused_calls();

}  // namespace hecto::router
