#include "router/linux/neighbor_limits.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

namespace hecto::router {
namespace {

using lookup::Family;

std::string threshold(Family family, unsigned number) {
  return fmt::format("/proc/sys/net/ipv{}/neigh/default/gc_thresh{}",
                     family == Family::kIpv4 ? 4 : 6, number);
}

std::optional<uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

bool write_number(const std::string& path, uint64_t value) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(value);
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The third before the others: the kernel takes them in any order, and none is ever out of it.
void raise_family(Family family, std::vector<std::string>& lines) {
  for (const unsigned number : {3u, 2u, 1u}) {
    const std::string path = threshold(family, number);
    const auto now = read_number(path);
    const uint32_t wanted = NeighborLimits::kWanted[number - 1];
    if (!now && family == Family::kIpv6) return;  // a kernel without it
    if (now && *now >= wanted) continue;
    if (write_number(path, wanted)) continue;
    lines.push_back(fmt::format("{} is {}: {} neighbors would fit; set it to {}", path,
                                now ? std::to_string(*now) : "out of sight",
                                now ? std::to_string(*now) : "it is not known how many", wanted));
    return;
  }
}

}  // namespace

std::optional<NeighborLimits::Use> neighbor_limits::parse_statistics(const std::string& text) {
  std::istringstream lines(text);
  std::string header, line;
  if (!std::getline(lines, header)) return std::nullopt;
  std::istringstream names(header);
  size_t full_at = 0, count = 0;
  for (std::string name; names >> name; ++count)
    if (name == "table_fulls") full_at = count;
  NeighborLimits::Use use;
  bool any = false;
  while (std::getline(lines, line)) {
    std::istringstream numbers(line);
    numbers >> std::hex;
    uint64_t number = 0;
    for (size_t i = 0; numbers >> number; ++i) {
      if (i == 0) use.entries = number;
      if (i == full_at && full_at != 0) use.refused += number;
      any = true;
    }
  }
  if (!any) return std::nullopt;
  return use;
}

NeighborLimits::NeighborLimits() : here_(access(threshold(Family::kIpv4, 3).c_str(), R_OK) == 0) {
  if (here_) return;
  // Where init may not be looked at, the kernel's own threads may.
  for (const char* path : {"/proc/1/ns/net", "/proc/2/ns/net"}) {
    first_ = FileDescriptor(::open(path, O_RDONLY | O_CLOEXEC));
    if (first_ && run([]() -> Result<void> {
          if (access(threshold(Family::kIpv4, 3).c_str(), R_OK) == 0) return {};
          return fail("another namespace", ENOENT);
        }))
      return;
  }
  first_.reset();
}

// On a thread of its own, which ends in the namespace that it entered.
Result<void> NeighborLimits::run(const std::function<Result<void>()>& task) const {
  if (here_) return task();
  if (!first_) return fail("the machine's first network namespace is out of sight", ENOENT);
  Result<void> result;
  std::thread inside([&] {
    if (setns(first_.get(), CLONE_NEWNET) != 0)
      result = fail(fmt::format("the machine's first network namespace: {}", std::strerror(errno)),
                    errno);
    else
      result = task();
  });
  inside.join();
  return result;
}

std::vector<std::string> NeighborLimits::raise() const {
  std::vector<std::string> lines;
  const auto done = run([&]() -> Result<void> {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) raise_family(family, lines);
    return {};
  });
  if (!done)
    lines.push_back(
        fmt::format("limits of Linux's neighbors were not raised: {}; set "
                    "net.ipv4.neigh.default.gc_thresh3 and net.ipv6's to {}",
                    done.error().message, kWanted[2]));
  return lines;
}

std::optional<NeighborLimits::Use> NeighborLimits::use(Family family) const {
  std::optional<Use> use;
  static_cast<void>(run([&]() -> Result<void> {
    std::ifstream file(family == Family::kIpv4 ? "/proc/thread-self/net/stat/arp_cache"
                                               : "/proc/thread-self/net/stat/ndisc_cache");
    std::stringstream text;
    text << file.rdbuf();
    use = neighbor_limits::parse_statistics(text.str());
    const auto limit = read_number(threshold(family, 3));
    if (!limit) use.reset();
    if (use) use->limit = *limit;
    return {};
  }));
  return use;
}

}  // namespace hecto::router
