// a (10.1.0.1) -- hectod -- b (10.2.0.1) over veth, in network namespaces of its own; hectod is a
// service whose descriptors a ServiceStore holds. All of it goes with this object. Needs root.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "bench/lib/child.hpp"
#include "bench/restart/service_store.hpp"
#include "router/linux/netns.hpp"

namespace hecto::bench {

class RestartBed {
 public:
  static Result<std::unique_ptr<RestartBed>> create(const std::string& program);
  ~RestartBed();
  RestartBed(const RestartBed&) = delete;
  RestartBed& operator=(const RestartBed&) = delete;

  Result<void> start();                     // until it answers
  Result<void> stop(bool kill);             // until it is gone
  Result<void> add_routes(unsigned count);  // in Linux, by b; until hectod knows them
  Result<void> wait_settled();  // until it forwards by tables of its own, and has left them
  const router::NetworkNamespace& near() const { return *near_; }
  const router::NetworkNamespace& far() const { return *far_; }
  ServiceStore& store() { return *store_; }

 private:
  RestartBed() = default;
  Result<void> build(const std::string& program);
  Result<void> ip(const std::string& space, const std::string& words);
  std::string linux_space() const { return prefix_ + "l"; }
  Result<std::string> ask(const std::string& path) const;
  size_t count_in_log(const std::string& words) const;

  std::string program_, prefix_;
  std::filesystem::path folder_;
  std::unique_ptr<router::NetworkNamespace> near_, router_, far_;
  std::unique_ptr<ServiceStore> store_;
  std::unique_ptr<Child> child_;
};

}  // namespace hecto::bench
