// What a worker is made of: where it lies, and what control reads of it while it writes.
#include "router/dataplane/worker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "router/dataplane/tables/socket_memory.hpp"

namespace hecto::router::test {
namespace {

class RecordingMemory final : public lookup::Memory {
 public:
  void* allocate(size_t bytes, int socket) noexcept override {
    socket_ = socket;
    bytes_ = bytes;
    return block_ = system().allocate(bytes, socket);
  }
  void release(void* block, size_t bytes) noexcept override {
    if (block == block_ && bytes == bytes_) ++released_;
    system().release(block, bytes);
  }
  bool holds(const void* object, size_t bytes) const {
    const auto* first = static_cast<const uint8_t*>(block_);
    const auto* at = static_cast<const uint8_t*>(object);
    return at >= first && at + bytes <= first + bytes_;
  }

  int socket_ = -1;
  size_t bytes_ = 0;
  void* block_ = nullptr;
  unsigned released_ = 0;
};

TEST(Worker, LiesOnItsSocketAsAWhole) {
  RecordingMemory memory;
  Worker::Options options;
  options.socket = 3;
  auto worker = make_on_socket<Worker>(memory, options.socket, options);
  EXPECT_EQ(memory.socket_, 3);
  EXPECT_TRUE(memory.holds(worker.get(), sizeof(Worker)));
  EXPECT_TRUE(memory.holds(&worker->counters(), sizeof(PipelineCounters)));
  EXPECT_GE(sizeof(Worker), sizeof(PipelineCounters) + sizeof(Chunk));
  worker.reset();
  EXPECT_EQ(memory.released_, 1u);
}

TEST(Example, IsReadWholeOrNotAtAllWhileItIsWritten) {
  Example example;
  EXPECT_FALSE(example.get());
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint16_t i = 1; !stop.load(std::memory_order_relaxed); ++i) example.set({i, i, i, {i, i}});
  });
  unsigned read = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (read < 20'000 && std::chrono::steady_clock::now() < until) {
    const auto packet = example.get();
    if (!packet) continue;
    ++read;
    const uint16_t n = packet->interface;
    ASSERT_EQ(*packet, (ExamplePacket{n, n, n, {n, n}}));
  }
  stop.store(true);
  writer.join();
  EXPECT_EQ(read, 20'000u);
}

}  // namespace
}  // namespace hecto::router::test
