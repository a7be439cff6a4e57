#include "router/linux/switches.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/file_descriptor.hpp"

namespace hecto::router {
namespace {

// /proc/sys/net shows the namespace of the thread that looks.
std::optional<int> number(const std::string& path) {
  const FileDescriptor file(::open(("/proc/sys/net/" + path).c_str(), O_RDONLY | O_CLOEXEC));
  char text[16] = {};
  if (!file || read(file.get(), text, sizeof text - 1) <= 0) return std::nullopt;
  return std::atoi(text);
}

struct Conf {
  explicit Conf(const std::string& name) {
    const auto ipv4 = [&](const char* key) {
      return number(fmt::format("ipv4/conf/{}/{}", name, key));
    };
    forwarding = ipv4("forwarding").value_or(1) != 0;
    rp_filter = ipv4("rp_filter").value_or(0);
    send_redirects = ipv4("send_redirects").value_or(0) != 0;
    accept_local = ipv4("accept_local").value_or(0) != 0;
  }
  bool forwarding, send_redirects, accept_local;
  int rp_filter;
};

UrpfMode mode(int rp_filter) {
  return rp_filter == 1 ? UrpfMode::kStrict : rp_filter == 2 ? UrpfMode::kLoose : UrpfMode::kOff;
}

// IN_DEV_FORWARD(), IN_DEV_RPFILTER(), IN_DEV_TX_REDIRECTS(), IN_DEV_ACCEPT_LOCAL(); ip6_forward().
InterfaceSwitches switches(const std::string& name, const Conf& all, bool all_forwards6) {
  const Conf own(name);
  InterfaceSwitches found;
  found.forwards4 = own.forwarding;
  found.forwards6 =
      all_forwards6 || number(fmt::format("ipv6/conf/{}/force_forwarding", name)).value_or(0) != 0;
  found.rp_filter = mode(std::max(all.rp_filter, own.rp_filter));
  found.redirects4 = all.send_redirects || own.send_redirects;
  found.redirects6 = true;
  found.accept_local = all.accept_local || own.accept_local;
  return found;
}

}  // namespace

Result<std::vector<InterfaceSwitches>> read_switches(const NetworkNamespace& space,
                                                     const std::vector<std::string>& names) {
  std::vector<InterfaceSwitches> found;
  auto done = space.run([&]() -> Result<void> {
    const Conf all("all");
    const bool forwards6 = number("ipv6/conf/all/forwarding").value_or(1) != 0;
    for (const std::string& name : names) found.push_back(switches(name, all, forwards6));
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return found;
}

}  // namespace hecto::router
