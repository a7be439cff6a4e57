// What the router and its helper process say to each other (docs/offload.md): one plain message
// over a socket of sequenced packets, sometimes with a descriptor. Jobs and completions go by rings in
// shared memory, never by this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/file_descriptor.hpp"

namespace hecto::gpu_offload {

enum class Say : uint32_t {
  // router → keeper
  kStart,  // with a socket: a process with the device, which is spoken to by that
  kKill,
  // keeper → router
  kEnded,  // value: as waitpid() gives it
  // router → device
  kBlock,    // with memory: id, value: where the router has it, bytes
  kForget,   // id: of a block
  kQueue,    // id: of the block with its rings, jobs
  kArena,    // id, words
  kRelease,  // id
  kUpdate,   // id: of the arena, block: where the update lies, words of an image or changes
  // device → router
  kHello,    // status, socket, text: its description, or why there is none
  kUpdated,  // status
  kTrouble,  // text: why it gives up
};

inline constexpr uint32_t kHelperVersion = 1;

struct Message {
  Say say{};
  uint32_t version = kHelperVersion;
  uint32_t id = 0;
  uint32_t block = 0;
  uint64_t value = 0;
  uint64_t bytes = 0;
  uint64_t words = 0;
  uint64_t changes = 0;
  uint32_t jobs = 0;
  uint32_t status = 0;
  int32_t socket = -1;
  char text[244] = {};

  void say_text(std::string_view from) {
    const size_t n = from.copy(text, sizeof text - 1);
    text[n] = 0;
  }
  std::string_view said() const { return {text, strnlen(text, sizeof text)}; }
};
static_assert(std::is_trivially_copyable_v<Message>);

// One end. Nothing blocks.
class Channel {
 public:
  enum class Got : uint8_t { kNothing, kMessage, kClosed };

  Channel() = default;
  explicit Channel(FileDescriptor socket) : socket_(std::move(socket)) {}
  // Two ends that see each other; false where there are no descriptors left.
  static bool make_pair(Channel& one, Channel& other);

  int fd() const { return socket_.get(); }
  explicit operator bool() const { return static_cast<bool>(socket_); }
  void close() { socket_.reset(); }
  // False: there is no room now, or nobody there any more. `with`: a descriptor to go along, or -1.
  bool send(const Message& message, int with = -1);
  // A message that is none (too short, of another version) counts as kClosed.
  Got receive(Message& message, FileDescriptor& with);

 private:
  FileDescriptor socket_;
};

// How a process ended, from waitpid()'s word: "exit code 1", "signal 9 (Killed)".
std::string describe_end(int wait_status);

}  // namespace hecto::gpu_offload
