#include "config/file/secret_key.hpp"

#include <algorithm>
#include <new>

#include "base/secret_memory.hpp"

namespace hecto::config {
namespace {

uint8_t* take() {
  void* block = allocate_secret(SecretKey::kMost);
  if (block == nullptr) throw std::bad_alloc();
  return static_cast<uint8_t*>(block);
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

SecretKey::~SecretKey() {
  release_secret(bytes_, kMost);
}

SecretKey::SecretKey(const SecretKey& other) : size_(other.size_) {
  if (other.bytes_ == nullptr) return;
  bytes_ = take();
  std::copy_n(other.bytes_, size_, bytes_);
}

std::optional<SecretKey> SecretKey::parse(std::string_view hex) {
  if (!hex.starts_with("0x") || hex.size() % 2 != 0 || hex.size() / 2 - 1 > kMost)
    return std::nullopt;
  hex.remove_prefix(2);
  SecretKey key;
  key.bytes_ = take();
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key.bytes_[key.size_++] = static_cast<uint8_t>(high << 4 | low);
  }
  return key;
}

SecretKey SecretKey::of(std::string_view text) {
  SecretKey key;
  key.bytes_ = take();
  key.size_ = static_cast<uint8_t>(std::min(text.size(), kMost));
  std::copy_n(text.data(), key.size_, key.bytes_);
  return key;
}

bool SecretKey::operator==(const SecretKey& other) const {
  return std::ranges::equal(bytes(), other.bytes());
}

}  // namespace hecto::config
