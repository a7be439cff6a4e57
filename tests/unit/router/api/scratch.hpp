// A folder of its own for a test, and a client that may say anything.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace hecto::router::test {

class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/hecto-api-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  explicit RawClient(int fd) : fd_(fd), connected_(true) {}
  ~RawClient() { ::close(fd_); }

  bool connected() const { return connected_; }
  // False when the peer has closed.
  bool send(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      const ssize_t sent = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<size_t>(sent);
    }
    return true;
  }
  // No more is to come from here.
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  // Everything until the peer closes, or until nothing comes for that long.
  std::string read_all(std::chrono::milliseconds quiet = std::chrono::milliseconds(5000)) {
    std::string text;
    char buffer[4096];
    for (;;) {
      pollfd entry{fd_, POLLIN, 0};
      if (::poll(&entry, 1, static_cast<int>(quiet.count())) <= 0) return text;
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return text;
      text.append(buffer, static_cast<size_t>(got));
    }
  }
  // Within that time, with what it sent not read.
  bool closed_by_peer(std::chrono::milliseconds longest) const {
    pollfd entry{fd_, POLLRDHUP, 0};
    return ::poll(&entry, 1, static_cast<int>(longest.count())) == 1;
  }
  void read_some(size_t bytes) {
    std::string some(bytes, '\0');
    [[maybe_unused]] const ssize_t got = ::recv(fd_, some.data(), bytes, MSG_DONTWAIT);
  }
  std::string ask(const std::string& text) {
    send(text);
    return read_all();
  }

 private:
  int fd_;
  bool connected_ = false;
};

}  // namespace hecto::router::test
