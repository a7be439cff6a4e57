// The bytes that readers see: one replica a socket, all alike, addressed by offsets in 32-bit
// words.
//
// The writer fills what nobody can reach yet with write(), then makes it reachable with one store.
// An arena grows by a larger copy: readers find the new one at their next look-up, through the
// handle, and the old one is given back after a grace period. One writer, any number of readers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "lookup/arena_header.hpp"
#include "lookup/journal.hpp"
#include "lookup/memory.hpp"
#include "lookup/memory_block.hpp"

namespace hecto::lookup {

class Arena {
 public:
  // Where a reader finds the replica of its socket, now and after the arena has grown.
  using Handle = std::atomic<const uint32_t*>;

  Arena(const std::vector<int>& sockets, Memory& memory, Reclaimer& reclaimer)
      : memory_(memory), reclaimer_(reclaimer) {
    for (int socket : sockets) replicas_.emplace_back(socket);
  }

  // Makes room for `words`, keeping what is there. False, and nothing changed, without memory
  // or sockets.
  bool resize(size_t words) {
    if (replicas_.empty()) return false;
    std::vector<MemoryBlock> fresh;
    for (Replica& replica : replicas_) {
      fresh.emplace_back(memory_, words * 4, replica.socket);
      if (fresh.back().as<uint32_t>() == nullptr) return false;
    }
    for (size_t i = 0; i < replicas_.size(); ++i) {
      Replica& replica = replicas_[i];
      auto* to = fresh[i].as<uint32_t>();
      if (words_ != 0) std::memcpy(to, replica.words(), words_ * 4);
      std::swap(replica.block, fresh[i]);
      replica.handle.store(to, std::memory_order_release);
    }
    uint64_t token = reclaimer_.start();
    for (MemoryBlock& old : fresh) retired_.push_back({token, std::move(old)});
    words_ = words;
    header_.words = static_cast<uint32_t>(words);
    if (journal_ != nullptr) journal_->resized(words);
    return true;
  }

  void write(uint32_t word, const void* data, size_t words) {
    if (journal_ != nullptr) journal_->note(word, words, false);
    for (Replica& replica : replicas_) std::memcpy(replica.words() + word, data, words * 4);
  }
  void store_half(uint32_t half, uint16_t value) {
    note(half / 2, 1);
    for (Replica& replica : replicas_) {
      __atomic_store_n(reinterpret_cast<uint16_t*>(replica.words()) + half, value,
                       __ATOMIC_RELEASE);
    }
  }
  void store(uint32_t word, uint32_t value) {
    note(word, 1);
    for (Replica& replica : replicas_) {
      __atomic_store_n(replica.words() + word, value, __ATOMIC_RELEASE);
    }
  }
  void store_pair(uint32_t word, uint64_t value) {  // `word` is even
    note(word, 2);
    for (Replica& replica : replicas_) {
      __atomic_store_n(reinterpret_cast<uint64_t*>(replica.words() + word), value,
                       __ATOMIC_RELEASE);
    }
  }
  // What the writer sees; holds until the next resize().
  const uint32_t* words() const { return replicas_.front().words(); }
  size_t size() const { return words_; }

  ArenaHeader& header() { return header_; }
  const ArenaHeader& header() const { return header_; }
  // Of all that is in header(). Once, before the first look-up.
  void write_header() {
    sum_header();
    write(0, &header_, sizeof(header_) / 4);
    changed_ = false;
  }
  // Counts the generation up if anything was stored. What kernels read of the header stays
  // untouched.
  void publish() {
    if (!changed_) return;
    ++header_.generation;
    sum_header();
    store(offsetof(ArenaHeader, words) / 4, header_.words);
    store(offsetof(ArenaHeader, checksum) / 4, header_.checksum);
    store_pair(offsetof(ArenaHeader, generation) / 4, header_.generation);
    changed_ = false;
    if (journal_ != nullptr) journal_->publish(words(), header_.generation);
  }
  uint64_t generation() const { return header_.generation; }

  // From now on `journal` learns of every change, beginning with the whole image; nullptr: nobody.
  void attach(Journal* journal) {
    journal_ = journal;
    if (journal == nullptr) return;
    journal->resized(words_);
    journal->publish(words(), header_.generation);
  }
  std::shared_ptr<const TableUpdate> image() const {
    return Journal::image_of(words(), words_, header_.generation);
  }

  // Gives back the memory of replicas that nobody reads any more.
  void reclaim() {
    while (!retired_.empty() && reclaimer_.passed(retired_.front().token)) retired_.pop_front();
  }

  const Handle& handle(int socket) const {
    for (const Replica& replica : replicas_) {
      if (replica.socket == socket) return replica.handle;
    }
    return replicas_.front().handle;
  }

 private:
  void note(uint32_t word, size_t words) {
    changed_ = true;
    if (journal_ != nullptr) journal_->note(word, words, true);
  }
  void sum_header() {
    uint32_t words[sizeof(ArenaHeader) / 4];
    std::memcpy(words, &header_, sizeof(header_));
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < offsetof(ArenaHeader, checksum) / 4; ++i) {
      sum = (sum ^ words[i]) * 16777619u;
    }
    header_.checksum = sum;
  }

  struct Replica {
    explicit Replica(int on) : socket(on) {}
    uint32_t* words() const { return block.as<uint32_t>(); }

    int socket;
    MemoryBlock block;
    Handle handle = nullptr;
  };
  struct Retired {
    uint64_t token;
    MemoryBlock block;
  };

  Memory& memory_;
  Reclaimer& reclaimer_;
  std::deque<Replica> replicas_;  // handles stay where they are
  std::deque<Retired> retired_;
  size_t words_ = 0;
  bool changed_ = false;  // since the last publish()
  Journal* journal_ = nullptr;
  ArenaHeader header_;
};

}  // namespace hecto::lookup
