#include "router/control/route_files.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>

#include "router/process/privileges/privileges.hpp"
#include "router/rib/route_file.hpp"

namespace hecto::router {
namespace {

Result<ReadRouteFile> read_route_file(const std::string& path,
                                      const std::vector<std::string>& interfaces) {
  RouteFileOptions options;
  options.find_interface = [&interfaces](std::string_view name) {
    const auto found = std::find(interfaces.begin(), interfaces.end(), name);
    return found == interfaces.end() ? kNoInterface : InterfaceId(found - interfaces.begin());
  };
  auto file = read_routes(path, options);
  if (!file) return tl::unexpected(file.error());
  for (const std::string& problem : file->problems) spdlog::warn("{}: {}", path, problem);
  ReadRouteFile read{std::make_shared<RouteTable>(std::move(file->table)), interfaces, {}};
  auto checked = check_table(read.routes);
  if (!checked) return fail(path + ": " + checked.error().message, checked.error().error_number);
  read.checked = std::move(*checked);
  return read;
}

}  // namespace

ReadRouteFiles read_route_files(const WantedRouteFiles& wanted) {
  ReadRouteFiles read;
  for (const std::string& path : wanted.paths)
    read.emplace(path, read_route_file(path, wanted.interfaces));
  return read;
}

RouteFilesReader::RouteFilesReader(WantedRouteFiles wanted)
    : thread_([this, wanted = std::move(wanted)] { run(wanted); }) {}

RouteFilesReader::~RouteFilesReader() {
  let_go();
  thread_.join();
}

void RouteFilesReader::run(const WantedRouteFiles& wanted) {
  confine_service();  // a child of control's, with no more than who asks for a reload has
  ReadRouteFiles read;
  try {
    read = read_route_files(wanted);
  } catch (const std::exception& thrown) {  // no memory
    for (const std::string& path : wanted.paths)
      read.insert_or_assign(path, fail(path + ": " + thrown.what(), ENOMEM));
  }
  {
    std::unique_lock lock(mutex_);
    files_ = std::move(read);
    if (state_ == State::kReading) state_ = State::kRead;
    changed_.wait(lock, [this] { return state_ == State::kFree; });
  }
  files_.clear();
  ended_ = true;
}

ReadRouteFiles* RouteFilesReader::take() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kRead) return nullptr;
  state_ = State::kTaken;
  return &files_;
}

bool RouteFilesReader::taken() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kTaken;
}

void RouteFilesReader::let_go() {
  {
    const std::lock_guard lock(mutex_);
    state_ = State::kFree;
  }
  changed_.notify_one();
}

}  // namespace hecto::router
