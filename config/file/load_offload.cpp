#include <fmt/format.h>

#include <algorithm>

#include "config/file/load_sections.hpp"

namespace hecto::config {
namespace {

constexpr std::string_view kDevices = "auto, none, host, cuda:N, or a list of the last two";

bool is_device(std::string_view word) {
  constexpr uint64_t kMostGpus = 64;
  const auto number = word.starts_with("cuda:") ? parse_decimal(word.substr(5)) : std::nullopt;
  return word == "host" || (number && *number < kMostGpus);
}

void read_device(const Value& item, std::vector<std::string>& devices) {
  std::string word(item.word());
  if (!is_device(word))
    item.refuse(fmt::format("is no device; use {}", kDevices));
  else if (std::find(devices.begin(), devices.end(), word) != devices.end())
    item.complain(fmt::format("{} is named twice; name it once", word));
  else
    devices.push_back(std::move(word));
}

void read_devices(const Value& value, std::vector<std::string>& devices) {
  if (value.is_word("auto") || value.is_word("none")) {
    devices = {std::string(value.word())};
    return;
  }
  devices.clear();
  if (value.kind() == NodeKind::kScalar) {
    read_device(value, devices);
    return;
  }
  for (const Value& item : value.items(kDevices, 64)) read_device(item, devices);
  if (devices.empty() && value.report().empty()) value.complain("no device; use none");
}

}  // namespace

void load_offload(const Value& value, Loading& loading) {
  OffloadConfig& offload = loading.config.offload;
  if (value.kind() == NodeKind::kScalar) {
    if (value.is_word("none"))
      offload.devices = {"none"};
    else if (!value.is_word("auto"))
      value.refuse("is not known; use auto, none, or a map as {device: cuda:0}");
    return;
  }
  Fields fields(value, "offload", "auto, none, or a map as {device: cuda:0}");
  if (const Value* device = fields.get("device")) read_devices(*device, offload.devices);
  static constexpr Enumerator kModes[] = {{"auto", static_cast<int>(OffloadMode::kAuto)},
                                          {"never", static_cast<int>(OffloadMode::kNever)},
                                          {"always", static_cast<int>(OffloadMode::kAlways)}};
  if (const Value* mode = fields.get("lookup"))
    if (auto word = mode->one_of(kModes)) offload.lookup = static_cast<OffloadMode>(*word);
  if (const Value* mode = fields.get("ipsec"))
    if (auto word = mode->one_of(kModes)) offload.ipsec = static_cast<OffloadMode>(*word);
  if (const Value* shader = fields.get("shader"))
    if (auto wanted = shader->boolean()) offload.shader = *wanted;
  read_integer(fields.get("latency_bound_us"), 1, 1'000'000, offload.latency_bound_us);
  read_integer(fields.get("deadline_us"), 10, 1'000'000, offload.deadline_us);
  read_integer(fields.get("batch"), 256, 65536, offload.batch);
}

}  // namespace hecto::config
