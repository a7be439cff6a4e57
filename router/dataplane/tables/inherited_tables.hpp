// The tables of the process before, as it left them: what workers forward by until those of this
// process are whole. Read only.
//
// Whether its numbers (ports, interfaces, reasons) mean the same in both is for control to say. What
// is checked here: all blocks of each socket are there, sizes and layout, the arenas' headers, that
// no group leads outside of its table.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"
#include "router/dataplane/core/table_views.hpp"

namespace hecto::router {

class ServiceManager;

class InheritedTables {
 public:
  // Takes those of a run (RunState::tables) from what is kept; of all other runs they are let go of.
  // Null where there is nothing. An error: one line why they cannot be used.
  static Result<std::shared_ptr<const InheritedTables>> take(ServiceManager& service,
                                                             const std::string& run,
                                                             const std::vector<int>& sockets,
                                                             uint32_t groups);
  ~InheritedTables();
  // Nobody needs them after this process: the service manager lets go of them, too.
  void forget() const;
  InheritedTables(const InheritedTables&) = delete;
  InheritedTables& operator=(const InheritedTables&) = delete;

  TableViews views(int socket) const;

 private:
  struct Block {
    const void* data = nullptr;
    size_t bytes = 0;
  };
  struct Replica {
    std::atomic<const uint32_t*> arena4{nullptr}, arena6{nullptr};
    lookup::NextHopView next_hops;
    UrpfView urpf;
  };
  explicit InheritedTables(ServiceManager& service) : service_(service) {}
  Result<void> map(const std::string& name, FileDescriptor file);
  Result<void> assemble(const std::string& run, int socket, uint32_t groups);

  ServiceManager& service_;
  std::map<std::string, Block> blocks_;  // by name
  std::map<int, Replica> replicas_;
};

}  // namespace hecto::router
