// The part of a service manager that a restart needs: it hears sd_notify(3), holds descriptors, and
// says how the next process is to be started so that it gets them (sd_listen_fds(3)).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"

namespace hecto::bench {

class ServiceStore {
 public:
  // Listens at `path`, till it goes.
  static Result<std::unique_ptr<ServiceStore>> open(const std::string& path);
  ~ServiceStore();
  ServiceStore(const ServiceStore&) = delete;
  ServiceStore& operator=(const ServiceStore&) = delete;

  // A program with its arguments, in the words that start it as a service; and what is to be its
  // descriptors from 3 on. They hold till the next message.
  struct Start {
    std::vector<std::string> words;
    std::vector<int> descriptors;
  };
  Start start_of(const std::vector<std::string>& program) const;
  size_t held() const;

 private:
  ServiceStore() = default;
  void listen();
  void hear(const std::string& lines, FileDescriptor descriptor);

  std::string path_;
  FileDescriptor socket_;
  mutable std::mutex mutex_;
  std::map<std::string, FileDescriptor> held_;
  std::thread thread_;
};

}  // namespace hecto::bench
