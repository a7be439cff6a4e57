#include "router/control/run_state.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/reason.hpp"
#include "router/control/interface_table.hpp"
#include "router/control/kept_text.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/running.hpp"
#include "router/process/service/service_manager.hpp"

namespace hecto::router {
namespace {

constexpr const char* kNames[] = {"state-0", "state-1"};
// Of FIBs, next hops and reverse-path bits: goes up with every change of what their bytes mean.
constexpr int kTableLayout = 1;
constexpr char kFirstLine[] = "hecto state 1\n";
constexpr size_t kMostBytes = 16 << 20;

std::string contents(int fd) {
  struct stat is {};
  if (fstat(fd, &is) != 0 || is.st_size < 0 || static_cast<size_t>(is.st_size) > kMostBytes)
    return {};
  std::string text(static_cast<size_t>(is.st_size), '\0');
  return pread(fd, text.data(), text.size(), 0) == is.st_size ? text : std::string();
}

// "address wan0 192.0.2.1/31", "neighbor wan0 192.0.2.0", "number port wan0 0 …"
bool take_line(const std::string& line, RunState& state) {
  std::istringstream words(line);
  std::string what, interface, value;
  words >> what;
  if (what == "number") {
    if (!line.starts_with("number ")) return false;
    state.numbers.push_back(line.substr(sizeof "number"));
    return true;
  }
  if (what == "sa") {
    SaNumbers numbers;
    uint32_t spi = 0;
    words >> value >> std::hex >> spi >> numbers.fingerprint >> std::dec >> numbers.sequence >>
        numbers.replay_sequence;
    const auto destination = lookup::IpAddress::parse(value);
    if (!destination || !words) return false;
    numbers.id = {*destination, Spi(spi)};
    state.sas.push_back(numbers);
    return true;
  }
  if (what == "count") return static_cast<bool>(words >> state.count);
  if (what == "tables") {
    words >> state.tables;
    return !state.tables.empty();
  }
  words >> interface >> value;
  if (what == "address") {
    const auto address = lookup::IpPrefix::parse_interface(value);
    if (address) state.addresses.push_back({interface, *address});
    return address.has_value();
  }
  const auto address = lookup::IpAddress::parse(value);
  if (what != "neighbor" || !address) return false;
  state.neighbors.push_back({interface, *address});
  return true;
}

}  // namespace

std::string table_layout(uint32_t groups) {
  return fmt::format("layout {} {} {} {}", kTableLayout, kReasonCount, kMaxInterfaceId, groups);
}

RunState state_of(const Running& running, const InterfaceTable& interfaces) {
  RunState state;
  state.numbers.push_back(table_layout(running.config.tables.groups));
  for (const auto& [id, interface] : interfaces.all()) {
    state.numbers.push_back(fmt::format("{} {} {} {} {} {:02x}", id, interface.name,
                                        interface.port_name, interface.port,
                                        to_string(interface.tags), fmt::join(interface.mac, ":")));
    if (interface.made_by_linux) continue;
    for (const lookup::IpPrefix& address : interface.addresses)
      state.addresses.push_back({interface.name, address});
  }
  for (const config::NeighborConfig& neighbor : running.config.neighbors)
    state.neighbors.push_back({neighbor.interface, neighbor.address});
  return state;
}

void take_back(const RunState& before, const RunState& now, const InterfaceTable& interfaces,
               LinuxSide& linux_side) {
  const auto gone = [](const auto& one, const auto& kept) {
    return std::find(kept.begin(), kept.end(), one) == kept.end();
  };
  for (const RunState::Address& one : before.addresses)
    if (const Interface* on = interfaces.find(one.interface); on && gone(one, now.addresses))
      (void)linux_side.remove_address(on->ifindex, one.address);
  for (const RunState::Neighbor& one : before.neighbors)
    if (const Interface* on = interfaces.find(one.interface); on && gone(one, now.neighbors))
      (void)linux_side.remove_neighbor(on->ifindex, one.address);
}

std::string to_text(const RunState& state) {
  std::string text = kFirstLine + fmt::format("count {}\n", state.count);
  for (const RunState::Address& one : state.addresses)
    text += fmt::format("address {} {}\n", one.interface, one.address.to_string());
  for (const RunState::Neighbor& one : state.neighbors)
    text += fmt::format("neighbor {} {}\n", one.interface, one.address.to_string());
  for (const SaNumbers& one : state.sas)
    text += fmt::format("sa {} {:x} {:x} {} {}\n", one.id.destination.to_string(),
                        one.id.spi.value(), one.fingerprint, one.sequence, one.replay_sequence);
  if (!state.tables.empty()) text += fmt::format("tables {}\n", state.tables);
  for (const std::string& line : state.numbers) text += fmt::format("number {}\n", line);
  return text + fmt::format("sum {:016x}\n", text_sum(text));
}

std::optional<RunState> run_state_from(const std::string& text) {
  constexpr size_t kSumLine = sizeof "sum 0123456789abcdef\n" - 1;
  if (!text.starts_with(kFirstLine) || text.size() < sizeof kFirstLine - 1 + kSumLine)
    return std::nullopt;
  const std::string body = text.substr(0, text.size() - kSumLine);
  if (text.substr(body.size()) != fmt::format("sum {:016x}\n", text_sum(body))) return std::nullopt;
  std::istringstream lines(body);
  std::string line;
  std::getline(lines, line);
  RunState state;
  while (std::getline(lines, line))
    if (!take_line(line, state)) return std::nullopt;
  return state;
}

RunStateKeeper::RunStateKeeper(ServiceManager& service) : service_(service) {
  bool any = false;
  for (size_t i = 0; i < files_.size(); ++i) {
    files_[i] = service.take(kNames[i]);
    if (!files_[i]) continue;
    const std::string text = contents(files_[i].get());
    any |= !text.empty();
    auto state = run_state_from(text);
    if (!state || state->count <= count_) continue;
    count_ = state->count;
    before_ = std::move(state);
  }
  damaged_ = any && !before_;
  if (before_) before_->count = 0;
}

bool RunStateKeeper::have_files() {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i]) continue;
    FileDescriptor file(memfd_create("hecto-state", MFD_CLOEXEC));
    if (!file || !service_.keep(kNames[i], file.get())) return false;
    files_[i] = std::move(file);
  }
  return true;
}

void RunStateKeeper::keep(const RunState& state) {
  if (!service_.keeps() || kept_ == state || !have_files()) return;
  RunState next = state;
  next.count = count_ + 1;
  const std::string text = to_text(next);
  if (text.size() > kMostBytes) return;
  // Cut first: what is half written could be taken for whole by nobody.
  const int file = files_[next.count % files_.size()].get();
  const bool written = ftruncate(file, 0) == 0 && pwrite(file, text.data(), text.size(), 0) ==
                                                      static_cast<ssize_t>(text.size());
  if (!written) return;
  count_ = next.count;
  kept_ = state;
}

}  // namespace hecto::router
