#include "config/machine/ethtool.hpp"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/file_descriptor.hpp"

namespace hecto::config {
namespace {

// `data` is a struct of ethtool, its command filled in.
bool ask(const std::string& interface, void* data) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(data);
  return socket && ioctl(socket.get(), SIOCETHTOOL, &request) == 0;
}

std::optional<uint32_t> value_of(const std::string& interface, uint32_t command) {
  ::ethtool_value value{command, 0};
  if (!ask(interface, &value)) return std::nullopt;
  return value.data;
}

std::string words(const char* text, size_t most) {
  std::string out(text, strnlen(text, most));
  return out == "N/A" ? std::string() : out;
}

std::vector<uint8_t> rss_key(const std::string& interface) {
  ::ethtool_rxfh sizes{};
  sizes.cmd = ETHTOOL_GRSSH;
  if (!ask(interface, &sizes) || sizes.key_size == 0 || sizes.key_size > 1024 ||
      sizes.indir_size > 65536)
    return {};
  const size_t table_bytes = sizes.indir_size * sizeof(uint32_t);
  std::vector<uint8_t> buffer(sizeof sizes + table_bytes + sizes.key_size);
  std::memcpy(buffer.data(), &sizes, sizeof sizes);
  if (!ask(interface, buffer.data())) return {};
  return {buffer.begin() + static_cast<ptrdiff_t>(sizeof sizes + table_bytes), buffer.end()};
}

}  // namespace

std::string to_string(InterfaceFeature feature) {
  return feature == InterfaceFeature::kGro ? "gro" : "lro";
}

InterfaceFacts Ethtool::facts(const std::string& interface) const {
  InterfaceFacts facts;
  ::ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (ask(interface, &driver)) {
    facts.driver = words(driver.driver, sizeof driver.driver);
    facts.version = words(driver.version, sizeof driver.version);
    facts.firmware = words(driver.fw_version, sizeof driver.fw_version);
  }
  if (const auto on = value_of(interface, ETHTOOL_GGRO)) facts.gro = *on != 0;
  if (const auto flags = value_of(interface, ETHTOOL_GFLAGS))
    facts.lro = (*flags & ETH_FLAG_LRO) != 0;
  ::ethtool_pauseparam pause{};
  pause.cmd = ETHTOOL_GPAUSEPARAM;
  if (ask(interface, &pause)) {
    facts.pause_rx = pause.rx_pause != 0;
    facts.pause_tx = pause.tx_pause != 0;
  }
  ::ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  if (ask(interface, &channels)) facts.receive_queues = channels.combined_count + channels.rx_count;
  facts.rss_key = rss_key(interface);
  return facts;
}

Result<void> Ethtool::set(const std::string& interface, InterfaceFeature feature, bool on) {
  ::ethtool_value value{ETHTOOL_SGRO, on ? 1u : 0u};
  if (feature == InterfaceFeature::kLro) {
    const uint32_t flags = value_of(interface, ETHTOOL_GFLAGS).value_or(0);
    value = {ETHTOOL_SFLAGS, on ? flags | ETH_FLAG_LRO : flags & ~uint32_t{ETH_FLAG_LRO}};
  }
  if (ask(interface, &value)) return {};
  const int number = errno;
  return fail(fmt::format("{}: {} cannot be switched: {}", interface, to_string(feature),
                          std::strerror(number)),
              number);
}

}  // namespace hecto::config
