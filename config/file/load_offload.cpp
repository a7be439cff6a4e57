#include "config/file/load_offload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

bool is_device(std::string_view word) {
  constexpr uint64_t kMostGpus = 64;
  const auto number = word.starts_with("cuda:") ? parse_decimal(word.substr(5)) : std::nullopt;
  return word == "host" || (number && *number < kMostGpus);
}

void read_device(const Value& item, std::vector<std::string>& devices) {
  std::string word(item.word());
  if (!is_device(word))
    item.refuse(fmt::format("is no device; use {}", offload_keys["device"].range.words));
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
  const Range& right = offload_keys["device"].range;
  for (const Value& item : value.items(right.words, right.high)) read_device(item, devices);
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
  Fields fields(value, offload_keys.names, "auto, none, or a map as {device: cuda:0}");
  read_keys(fields, offload_keys, offload,
            {{"device", [&](const Value& device) { read_devices(device, offload.devices); }}});
}

}  // namespace hecto::config
