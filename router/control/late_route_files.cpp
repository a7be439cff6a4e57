#include "router/control/late_route_files.hpp"

#include <fmt/ranges.h>

#include <set>
#include <system_error>

#include "router/control/interface_control.hpp"
#include "router/control/notes.hpp"
#include "router/control/route_control.hpp"
#include "router/control/running.hpp"

namespace hecto::router {
namespace {

// Nothing leads by interfaces that are not there any more: a reload removed them, or a NIC was taken out.
// Control looks through all of a file that names one: tens of milliseconds of a million routes.
void leave_out_removed(const Parts& parts, const std::string& path, ReadRouteFile& file) {
  std::set<std::string> removed;
  auto& sets = file.routes->next_hop_sets;
  for (std::vector<NextHop>& next_hops : sets)
    std::erase_if(next_hops, [&](const NextHop& hop) {
      if (hop.interface == kNoInterface) return false;
      const std::string& name = file.interfaces[hop.interface];
      return parts.interfaces.table().find(name) == nullptr && (removed.insert(name), true);
    });
  if (removed.empty()) return;
  const size_t gone = std::erase_if(file.routes->entries, [&](const RouteTable::Entry& entry) {
    return sets[entry.next_hop_set].empty();
  });
  file.checked = check_table(file.routes).value();
  parts.notes.add(fmt::format(
      "restart: {}: {} of its routes are left out, as the interface they lead by is not there any "
      "more: {}; once it is, take the file out of route_files, reload, and put it in again",
      path, gone, fmt::join(removed, ", ")));
}

}  // namespace

void LateRouteFiles::tick(const Parts& parts) {
  if (state_ == State::kWanted) return read(parts);
  if (reader_ && reader_->ended()) reader_.reset();
  if (state_ == State::kReading) {
    if (ReadRouteFiles* const files = reader_->take()) load(parts, *files);
  } else if (state_ == State::kLoading && !parts.routes.loading()) {
    if (reader_) reader_->let_go();
    state_ = State::kNone;
  }
}

void LateRouteFiles::read(const Parts& parts) {
  WantedRouteFiles wanted{parts.running.config.route_files, {}};
  for (const auto& [id, interface] : parts.interfaces.table().all())
    wanted.interfaces.push_back(interface.name);
  try {
    reader_ = std::make_unique<RouteFilesReader>(wanted);
    state_ = State::kReading;
  } catch (const std::system_error&) {  // no thread: control stands still meanwhile
    ReadRouteFiles files = read_route_files(wanted);
    load(parts, files);
  }
}

// Not those that a reload has removed since, or loaded itself.
void LateRouteFiles::load(const Parts& parts, ReadRouteFiles& files) {
  state_ = State::kLoading;
  for (const std::string& path : parts.running.config.route_files) {
    const auto file = files.find(path);
    if (file == files.end() || parts.routes.has_file(path)) continue;
    Result<void> done;
    if (file->second) {
      leave_out_removed(parts, path, *file->second);
      done = parts.routes.begin_file(path, *file->second);
    } else {
      done = tl::unexpected(file->second.error());
    }
    if (!done)
      parts.notes.add("restart: " + done.error().message +
                      ": its routes are missing till hectod starts with a file that is right");
  }
}

}  // namespace hecto::router
