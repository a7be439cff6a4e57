// What look-up structures need from their surroundings: memory near a socket, and knowing when
// readers have let go. Both have a default here, so that the library works without DPDK.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hecto::lookup {

enum class Error : uint8_t {
  kBadPrefix,     // length out of range or host bits set
  kNotFound,      // remove or change of a prefix or route that is not in the table
  kUnknownGroup,  // a next-hop-group index that was never allocated
  kTableFull,     // no prefix, group or record more within the sizes given at creation
  kNoMemory,      // Memory::allocate gave nothing
  kArenaFull,     // the arena reached its limit, or there is no memory for it to grow
  kDuplicate,     // insert of a prefix or route that is there already
  kUnknownTable,  // a table that the FIB was not created with
  kBadGroup,      // a record or member list that the group cannot hold, or a group still in use
};
const char* to_string(Error error) noexcept;

// Gives zeroed, 64-byte aligned memory on a NUMA socket. Called by the writer only.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* allocate(size_t bytes, int socket) noexcept = 0;  // nullptr when there is none
  virtual void release(void* block, size_t bytes) noexcept = 0;

  // mmap with MADV_HUGEPAGE, no NUMA binding.
  static Memory& system();
};

// Quiescent-state reclamation (QSBR), writer's side. A token names a moment; once `passed(token)`
// every reader that could have held a reference taken before that moment has let go.
class Reclaimer {
 public:
  virtual ~Reclaimer() = default;
  virtual uint64_t start() noexcept = 0;
  virtual bool passed(uint64_t token) noexcept = 0;

  // For a table that nobody reads concurrently: every token has passed at once.
  static Reclaimer& none();
};

}  // namespace hecto::lookup
