#include "router/linux/switches.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/file_descriptor.hpp"

namespace hecto::router {
namespace {

// Reads /proc/sys/net, which shows the namespace of the thread that looks. The first failure stays.
class Reader {
 public:
  // None where there is no such switch, or after a failure.
  std::optional<int> number(const std::string& key) {
    const std::string path = "/proc/sys/net/" + key;
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[16] = {};
    if (file && read(file.get(), text, sizeof text - 1) > 0) return std::atoi(text);
    if (errno != ENOENT && failed_) failed_ = fail(path + ": " + std::strerror(errno), errno);
    return std::nullopt;
  }
  const Result<void>& failed() const { return failed_; }

 private:
  Result<void> failed_;
};

struct Conf {
  Conf(Reader& reader, const std::string& name) {
    const auto ipv4 = [&](const char* key) {
      return reader.number(fmt::format("ipv4/conf/{}/{}", name, key));
    };
    const auto own = ipv4("forwarding");
    there = own.has_value();
    forwarding = own.value_or(1) != 0;
    rp_filter = ipv4("rp_filter").value_or(0);
    send_redirects = ipv4("send_redirects").value_or(0) != 0;
    accept_local = ipv4("accept_local").value_or(0) != 0;
  }
  bool there, forwarding, send_redirects, accept_local;
  int rp_filter;
};

UrpfMode mode(int rp_filter) {
  return rp_filter == 1 ? UrpfMode::kStrict : rp_filter == 2 ? UrpfMode::kLoose : UrpfMode::kOff;
}

// IN_DEV_FORWARD(), IN_DEV_RPFILTER(), IN_DEV_TX_REDIRECTS(), IN_DEV_ACCEPT_LOCAL(); ip6_forward().
std::optional<InterfaceSwitches> switches(Reader& reader, const std::string& name, const Conf& all,
                                          bool all_forwards6) {
  const Conf own(reader, name);
  if (!own.there) return std::nullopt;
  InterfaceSwitches found;
  found.forwards4 = own.forwarding;
  found.forwards6 =
      all_forwards6 ||
      reader.number(fmt::format("ipv6/conf/{}/force_forwarding", name)).value_or(0) != 0;
  found.rp_filter = mode(std::max(all.rp_filter, own.rp_filter));
  found.redirects4 = all.send_redirects || own.send_redirects;
  found.redirects6 = true;
  found.accept_local = all.accept_local || own.accept_local;
  found.labels = reader.number(fmt::format("mpls/conf/{}/input", name)).value_or(0) != 0;
  return found;
}

}  // namespace

Result<SwitchesOfAll> read_switches(const NetworkNamespace& space,
                                    const std::vector<std::string>& names) {
  SwitchesOfAll found;
  auto done = space.run([&]() -> Result<void> {
    Reader reader;
    const Conf all(reader, "all");
    const bool forwards6 = reader.number("ipv6/conf/all/forwarding").value_or(1) != 0;
    for (const std::string& name : names) found.push_back(switches(reader, name, all, forwards6));
    return reader.failed();
  });
  if (!done) return tl::unexpected(done.error());
  return found;
}

Result<LabelSwitches> read_label_switches(const NetworkNamespace& space) {
  LabelSwitches found;
  auto done = space.run([&]() -> Result<void> {
    Reader reader;
    found.platform_labels =
        static_cast<uint32_t>(reader.number("mpls/platform_labels").value_or(0));
    found.propagates_ttl = reader.number("mpls/ip_ttl_propagate").value_or(1) != 0;
    found.default_ttl = static_cast<uint8_t>(reader.number("mpls/default_ttl").value_or(255));
    return reader.failed();
  });
  if (!done) return tl::unexpected(done.error());
  return found;
}

bool has_labels(const NetworkNamespace& space) {
  bool there = false;
  const auto done = space.run([&]() -> Result<void> {
    there = ::access("/proc/sys/net/mpls/platform_labels", R_OK) == 0;
    return {};
  });
  return done && there;
}

}  // namespace hecto::router
