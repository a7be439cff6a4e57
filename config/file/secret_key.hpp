// A key's bytes in memory of their own kind: locked where the limits allow it, kept out of core
// dumps, wiped when the key goes. Nothing prints one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace hecto::config {

class SecretKey {
 public:
  static constexpr size_t kMost = 64;  // bytes: those of HMAC-SHA-512
  SecretKey() = default;
  ~SecretKey();
  SecretKey(const SecretKey& other);  // throws std::bad_alloc
  SecretKey(SecretKey&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SecretKey& operator=(SecretKey other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }

  // "0x0123…", whole bytes; nothing when it is something else, or longer.
  static std::optional<SecretKey> parse(std::string_view hex);
  static SecretKey of(std::string_view text);  // its bytes, at most kMost
  std::span<const uint8_t> bytes() const { return {bytes_, size_}; }
  size_t size() const { return size_; }
  bool operator==(const SecretKey& other) const;

 private:
  uint8_t* bytes_ = nullptr;  // kMost of them, null: none yet
  uint8_t size_ = 0;
};

}  // namespace hecto::config
