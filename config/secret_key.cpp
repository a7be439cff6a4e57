#include "config/secret_key.hpp"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace hecto::config {
namespace {

// Blocks of SecretKey::kMost bytes from whole pages, which stay for the process's life.
class Blocks {
 public:
  uint8_t* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) grow();
    uint8_t* block = free_.back();
    free_.pop_back();
    return block;
  }
  void give_back(uint8_t* block) noexcept {
    explicit_bzero(block, SecretKey::kMost);
    const std::lock_guard lock(mutex_);
    free_.push_back(block);  // within what grow() has reserved
  }

 private:
  void grow() {
    constexpr size_t kBytes = size_t{64} << 10;
    constexpr size_t kCount = kBytes / SecretKey::kMost;
    free_.reserve(count_ + kCount);
    void* mapped =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    if (madvise(mapped, kBytes, MADV_DONTDUMP) != 0) {  // no keys where a dump would show them
      munmap(mapped, kBytes);
      throw std::bad_alloc();
    }
    (void)mlock(mapped, kBytes);  // RLIMIT_MEMLOCK may say no: then they may be swapped out
    for (size_t i = 0; i < kCount; ++i)
      free_.push_back(static_cast<uint8_t*>(mapped) + i * SecretKey::kMost);
    count_ += kCount;
  }

  std::mutex mutex_;
  std::vector<uint8_t*> free_;
  size_t count_ = 0;  // of all blocks
};

Blocks& blocks() {
  static auto* all = new Blocks;  // outlives every key, whatever the order of exits
  return *all;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

SecretKey::~SecretKey() {
  if (bytes_ != nullptr) blocks().give_back(bytes_);
}

SecretKey::SecretKey(const SecretKey& other) : size_(other.size_) {
  if (other.bytes_ == nullptr) return;
  bytes_ = blocks().take();
  std::copy_n(other.bytes_, size_, bytes_);
}

std::optional<SecretKey> SecretKey::parse(std::string_view hex) {
  if (!hex.starts_with("0x") || hex.size() % 2 != 0 || hex.size() / 2 - 1 > kMost)
    return std::nullopt;
  hex.remove_prefix(2);
  SecretKey key;
  key.bytes_ = blocks().take();
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key.bytes_[key.size_++] = static_cast<uint8_t>(high << 4 | low);
  }
  return key;
}

bool SecretKey::operator==(const SecretKey& other) const {
  return std::ranges::equal(bytes(), other.bytes());
}

}  // namespace hecto::config
