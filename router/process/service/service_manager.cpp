#include "router/process/service/service_manager.hpp"

#include <systemd/sd-daemon.h>

#include <cstdlib>
#include <utility>

namespace hecto::router {
namespace {

// systemd sets it since 254; before, the unit does.
bool has_store() {
  const char* most = std::getenv("FDSTORE");
  return most != nullptr && std::atoi(most) > 0;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  ServiceManager manager;
  manager.there_ = std::getenv("NOTIFY_SOCKET") != nullptr;
  manager.keeps_ = manager.there_ && has_store();
  uint64_t us = 0;
  if (sd_watchdog_enabled(0, &us) > 0) manager.watchdog_ = std::chrono::microseconds(us);
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  for (int i = 0; i < count; ++i) {
    manager.kept_.insert_or_assign(names[i], FileDescriptor(SD_LISTEN_FDS_START + i));
    std::free(names[i]);
  }
  std::free(static_cast<void*>(names));
  return manager;
}

void ServiceManager::tell(const std::string& lines) const {
  if (there_) (void)sd_notify(0, lines.c_str());
}

bool ServiceManager::keep(const std::string& name, int fd) const {
  if (!keeps_) return false;
  return sd_pid_notify_with_fds(0, 0, ("FDSTORE=1\nFDNAME=" + name).c_str(), &fd, 1) > 0;
}

void ServiceManager::forget(const std::string& name) const {
  if (keeps_) tell("FDSTOREREMOVE=1\nFDNAME=" + name);
}

FileDescriptor ServiceManager::take(const std::string& name) {
  auto node = kept_.extract(name);
  return node ? std::move(node.mapped()) : FileDescriptor();
}

std::vector<std::string> ServiceManager::kept() const {
  std::vector<std::string> names;
  for (const auto& [name, fd] : kept_) names.push_back(name);
  return names;
}

}  // namespace hecto::router
