// A file of the state directory that is there whole or not at all: written beside its place, brought
// to the disk, then renamed. Mode 0600, as what it holds may be keys.
//
// Errors are one line that begins with the path. Control only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "base/secret_memory.hpp"

namespace hecto::router {

class StateFile {
 public:
  static constexpr size_t kMostBytes = 16 << 20;

  explicit StateFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Nothing: it is not there. Refused: one that others than this user could have read or written.
  Result<std::optional<SecretBytes>> read() const;

  // What is written and not yet in its place; goes again unless it is put there.
  class Staged {
   public:
    explicit Staged(const std::string& path) : path_(path) {}
    Staged(Staged&& other) noexcept
        : path_(std::move(other.path_)), there_(std::exchange(other.there_, false)) {}
    Staged& operator=(Staged&&) = delete;
    ~Staged();
    Result<void> commit();

   private:
    friend class StateFile;
    std::string path_;  // of the file
    bool there_ = false;
  };
  // On the disk when it returns, or refused; makes the directory.
  Result<Staged> stage(std::span<const uint8_t> bytes) const;
  Result<void> write(std::span<const uint8_t> bytes) const;
  Result<void> remove() const;  // no error where there is none

 private:
  std::string path_;
};

// $STATE_DIRECTORY of the service manager, else /var/lib/hecto.
std::string state_directory();
// In there, of the instance with that API socket: no two have one.
std::string state_path(const std::string& directory, const std::string& api_socket,
                       const std::string& kind);

}  // namespace hecto::router
