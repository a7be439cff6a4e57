// A ring of bytes with one writer and one reader, without a lock: where a worker leaves what it
// captures. Entries are contiguous, 8-byte aligned, and seen by the reader once they are published;
// what is reserved and not published can be taken back. A full ring refuses; nobody waits.
//
// The writer calls reserve(), shrink_to(), publish(); the reader front(), pop().
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace hecto::router {

class CaptureRing {
 public:
  // Rounded down to a power of two, 4 KiB at least.
  explicit CaptureRing(size_t bytes)
      : bytes_(std::bit_floor(bytes < 4096 ? size_t{4096} : bytes)),
        memory_(new std::byte[bytes_]) {}

  size_t size() const noexcept { return bytes_; }

  // Room for one entry of `bytes`, or null.
  std::byte* reserve(uint32_t bytes) noexcept {
    const uint64_t needed = kHeaderBytes + rounded(bytes);
    const uint64_t to_end = bytes_ - offset(reserved_);
    const uint64_t skip = needed > to_end ? to_end : 0;  // entries do not wrap
    if (reserved_ + skip + needed - consumed_seen_ > bytes_) {
      consumed_seen_ = consumed_.load(std::memory_order_acquire);
      if (reserved_ + skip + needed - consumed_seen_ > bytes_) return nullptr;
    }
    if (skip > 0) put_header(kSkip | skip);
    reserved_ += skip;
    put_header(bytes);
    std::byte* entry = memory_.get() + offset(reserved_) + kHeaderBytes;
    reserved_ += needed;
    return entry;
  }
  // What has been reserved so far; shrink_to() goes back there, no further than what is published.
  uint64_t reserved() const noexcept { return reserved_; }
  void shrink_to(uint64_t reserved) noexcept { reserved_ = reserved; }
  void publish() noexcept { published_.store(reserved_, std::memory_order_release); }

  // The oldest entry; empty: there is none. Stays until pop().
  std::span<const std::byte> front() noexcept {
    for (;;) {
      const uint64_t at = consumed_.load(std::memory_order_relaxed);
      if (at == published_.load(std::memory_order_acquire)) return {};
      const uint64_t header = header_at(at);
      if ((header & kSkip) == 0)
        return {memory_.get() + offset(at) + kHeaderBytes, static_cast<size_t>(header)};
      consumed_.store(at + (header & ~kSkip), std::memory_order_release);
    }
  }
  void pop() noexcept {
    const uint64_t at = consumed_.load(std::memory_order_relaxed);
    consumed_.store(at + kHeaderBytes + rounded(header_at(at)), std::memory_order_release);
  }

 private:
  static constexpr uint64_t kHeaderBytes = 8;
  static constexpr uint64_t kSkip = uint64_t{1} << 63;
  static constexpr uint64_t rounded(uint64_t bytes) noexcept { return (bytes + 7) & ~uint64_t{7}; }
  uint64_t offset(uint64_t at) const noexcept { return at & (bytes_ - 1); }
  void put_header(uint64_t header) noexcept {
    std::memcpy(memory_.get() + offset(reserved_), &header, sizeof header);
  }
  uint64_t header_at(uint64_t at) const noexcept {
    uint64_t header;
    std::memcpy(&header, memory_.get() + offset(at), sizeof header);
    return header;
  }

  const size_t bytes_;
  const std::unique_ptr<std::byte[]> memory_;
  // The writer's.
  alignas(64) uint64_t reserved_ = 0;
  uint64_t consumed_seen_ = 0;
  alignas(64) std::atomic<uint64_t> published_{0};
  alignas(64) std::atomic<uint64_t> consumed_{0};  // by the reader
};

}  // namespace hecto::router
