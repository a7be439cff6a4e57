// Memory of a table that outlives the process: memory files of huge pages, each held by the service
// manager as "table-RUN-TABLE-SOCKET-NUMBER". The next process finds the bytes as they were, whatever
// ended this one (inherited_tables.hpp).
//
// Where there are no huge pages, or nobody who holds them, memory is that of SocketMemory, and the
// table is not whole(): nothing of it can be inherited. Writer only.
#pragma once

#include <map>
#include <string>

#include "base/file_descriptor.hpp"
#include "router/dataplane/tables/socket_memory.hpp"

namespace hecto::router {

class ServiceManager;

class KeptMemory final : public lookup::Memory {
 public:
  // `table`: "RUN-TABLE". Both others outlive it.
  KeptMemory(std::string table, ServiceManager& service, lookup::Memory& otherwise)
      : table_(std::move(table)), service_(service), otherwise_(otherwise) {}
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  void* allocate(size_t bytes, int socket) noexcept override;
  void release(void* block, size_t bytes) noexcept override;
  // The process ends: blocks that are released stay held.
  void leave() { leaving_ = true; }
  // All that is allocated is held.
  bool whole() const { return elsewhere_ == 0; }

 private:
  void* allocate_kept(size_t bytes, int socket);

  const std::string table_;
  ServiceManager& service_;
  lookup::Memory& otherwise_;
  struct Block {
    std::string name;
    size_t bytes;
  };
  std::map<void*, Block> blocks_;
  unsigned next_ = 0;
  bool leaving_ = false;
  size_t elsewhere_ = 0;  // blocks of `otherwise_`
};

}  // namespace hecto::router
