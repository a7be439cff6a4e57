// DPDK's environment: cores, memory, devices. One per process, started first and ended last.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/dataplane/ports/runtime_folder.hpp"

namespace hecto::router {

struct EalOptions {
  unsigned control_cpu = 0;
  std::vector<unsigned> worker_cpus;  // lcore id = position + 1
  uint64_t memory_bytes = 0;          // for mbuf pools and rings
  uint64_t ordinary_bytes = 0;        // without hugepages, if pools take more then
  std::string memory_key = "memory";  // what sets these, in words: "hecto.yaml:7: memory"
  std::vector<std::string> pci;       // allowed devices; empty: the PCI bus is left alone
  bool shared_memory = false;         // memif: needs memory that another process can map
};

class Eal {
 public:
  static Result<std::unique_ptr<Eal>> start(const EalOptions& options);
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  bool hugepages() const { return hugepages_; }
  const std::string& note() const { return note_; }  // one line on memory, for the log
  static std::string version();                      // "DPDK 22.11.11"
  // DPDK's newest complaint, to put behind an error of ours; cleared by reading.
  static std::string last_complaint();

 private:
  Eal() = default;
  bool hugepages_ = false;
  std::string prefix_;
  std::unique_ptr<RuntimeFolder> folder_;
  std::string note_;
};

uint64_t free_hugepage_bytes();     // of all sizes and sockets
uint64_t available_memory_bytes();  // in ordinary pages, without swapping; 0: not known

}  // namespace hecto::router
