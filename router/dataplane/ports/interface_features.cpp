#include "router/dataplane/ports/interface_features.hpp"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file_descriptor.hpp"

namespace hecto::router {
namespace {

constexpr size_t kMostFeatures = 1024;

// `data`: a struct of ethtool, its command filled in.
Result<void> ask(const std::string& interface, void* data) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(data);
  if (socket && ioctl(socket.get(), SIOCETHTOOL, &request) >= 0) return {};
  const int number = errno;
  return fail(fmt::format("{}: {}", interface, std::strerror(number)), number);
}

// A struct that ends in an array of no fixed length.
template <typename Head>
struct WithArray {
  explicit WithArray(uint32_t command, size_t array_bytes)
      : words((sizeof(Head) + array_bytes + 7) / 8, 0) {
    head()->cmd = command;
  }
  Head* head() { return reinterpret_cast<Head*>(words.data()); }
  std::vector<uint64_t> words;
};

Result<size_t> count_features(const std::string& interface) {
  WithArray<ethtool_sset_info> info(ETHTOOL_GSSET_INFO, sizeof(uint32_t));
  info.head()->sset_mask = uint64_t{1} << ETH_SS_FEATURES;
  if (auto done = ask(interface, info.head()); !done) return tl::unexpected(done.error());
  return std::min<size_t>(info.head()->sset_mask == 0 ? 0 : info.head()->data[0], kMostFeatures);
}

}  // namespace

Result<InterfaceFeatures> InterfaceFeatures::read(const std::string& interface) {
  const auto count = count_features(interface);
  if (!count) return tl::unexpected(count.error());
  WithArray<ethtool_gstrings> strings(ETHTOOL_GSTRINGS, *count * ETH_GSTRING_LEN);
  strings.head()->string_set = ETH_SS_FEATURES;
  strings.head()->len = static_cast<uint32_t>(*count);
  if (auto done = ask(interface, strings.head()); !done) return tl::unexpected(done.error());
  const size_t blocks = (*count + 31) / 32;
  WithArray<ethtool_gfeatures> states(ETHTOOL_GFEATURES,
                                      blocks * sizeof(ethtool_get_features_block));
  states.head()->size = static_cast<uint32_t>(blocks);
  if (auto done = ask(interface, states.head()); !done) return tl::unexpected(done.error());
  InterfaceFeatures out;
  out.interface_ = interface;
  for (size_t i = 0; i < *count; ++i) {
    const auto* const name =
        reinterpret_cast<const char*>(strings.head()->data) + i * ETH_GSTRING_LEN;
    const ethtool_get_features_block& block = states.head()->features[i / 32];
    const uint32_t bit = uint32_t{1} << (i % 32);
    const bool changes = (block.available & bit) != 0 && (block.never_changed & bit) == 0;
    out.features_.push_back({std::string(name, strnlen(name, ETH_GSTRING_LEN)), changes,
                             (block.requested & bit) != 0, (block.active & bit) != 0});
  }
  return out;
}

std::vector<std::string> InterfaceFeatures::on(const std::vector<std::string>& names) const {
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (std::any_of(features_.begin(), features_.end(), [&](const Feature& f) {
          return f.name == name && (f.active || (f.requested && f.available));
        }))
      found.push_back(name);
  return found;
}

Result<void> InterfaceFeatures::set(const std::vector<std::string>& names, bool on) const {
  const size_t blocks = (features_.size() + 31) / 32;
  WithArray<ethtool_sfeatures> wanted(ETHTOOL_SFEATURES,
                                      blocks * sizeof(ethtool_set_features_block));
  wanted.head()->size = static_cast<uint32_t>(blocks);
  bool any = false;
  for (size_t i = 0; i < features_.size(); ++i) {
    const Feature& feature = features_[i];
    if (!feature.available || std::find(names.begin(), names.end(), feature.name) == names.end())
      continue;
    const uint32_t bit = uint32_t{1} << (i % 32);
    wanted.head()->features[i / 32].valid |= bit;
    if (on) wanted.head()->features[i / 32].requested |= bit;
    any = true;
  }
  return any ? ask(interface_, wanted.head()) : Result<void>{};
}

std::vector<std::string> receive_offloads() {
  return {kReceiveOffloads.begin(), kReceiveOffloads.end()};
}

std::vector<std::string> turn_off_receive_offloads(const std::string& interface) {
  const auto before = InterfaceFeatures::read(interface);
  if (!before)
    return {"what the kernel does to packets on receive cannot be seen: " + before.error().message};
  if (before->on(receive_offloads()).empty()) return {};
  const auto done = before->set(receive_offloads(), false);
  const auto now = InterfaceFeatures::read(interface);
  std::vector<std::string> sentences;
  for (const std::string& name : (now ? *now : *before).on(receive_offloads()))
    sentences.push_back(fmt::format(
        "{} could not be turned off{}: packets may come joined, or without their VLAN tags", name,
        done ? "" : " (" + done.error().message + ")"));
  return sentences;
}

}  // namespace hecto::router
