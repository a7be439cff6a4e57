// Memory of a NUMA socket, for tables and for single objects.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "lookup/memory.hpp"

namespace hecto::router {

// Anonymous memory bound to a socket, with transparent hugepages.
class SocketMemory final : public lookup::Memory {
 public:
  void* allocate(size_t bytes, int socket) noexcept override;
  void release(void* block, size_t bytes) noexcept override;
};

template <typename T>
struct SocketDelete {
  lookup::Memory* memory = nullptr;
  void operator()(T* object) const noexcept {
    object->~T();
    memory->release(object, sizeof(T));
  }
};
template <typename T>
using SocketPointer = std::unique_ptr<T, SocketDelete<T>>;

// The object with all its members lies on the socket, whichever thread makes it. `memory` outlives
// it. Throws std::bad_alloc.
template <typename T, typename... Arguments>
SocketPointer<T> make_on_socket(lookup::Memory& memory, int socket, Arguments&&... arguments) {
  static_assert(alignof(T) <= 64);
  void* block = memory.allocate(sizeof(T), socket);
  if (block == nullptr) throw std::bad_alloc();
  return {new (block) T(std::forward<Arguments>(arguments)...), SocketDelete<T>{&memory}};
}

}  // namespace hecto::router
