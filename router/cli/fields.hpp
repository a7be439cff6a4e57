// Reading the API's JSON without trusting it: a missing key is as good as null.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "router/cli/units.hpp"

namespace hecto::cli {

// What is worth a colour, in per cent: load, and a worker's time without the CPU while ready to run.
inline constexpr double kBusy = 90, kWaits = 10;

inline const nlohmann::json& at(const nlohmann::json& value, const char* key) {
  static const nlohmann::json null;
  if (!value.is_object()) return null;
  const auto found = value.find(key);
  return found == value.end() ? null : *found;
}

inline bool has(const nlohmann::json& value, const char* key) {
  return !at(value, key).is_null();
}

inline const nlohmann::json& list(const nlohmann::json& value, const char* key) {
  static const nlohmann::json empty = nlohmann::json::array();
  const nlohmann::json& found = at(value, key);
  return found.is_array() ? found : empty;
}

inline std::string plain(const nlohmann::json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline std::string text(const nlohmann::json& value, const char* key) {
  return plain(at(value, key));
}

// The VLANs of an interface or a next hop: 100, 100.10, 802.1ad 100.10; empty: none.
inline std::string tags(const nlohmann::json& value) {
  if (!has(value, "vlan")) return {};
  const std::string protocol = text(value, "tag_protocol") == "802.1ad" ? "802.1ad " : "";
  return protocol + (has(value, "outer_vlan") ? text(value, "outer_vlan") + "." : "") +
         text(value, "vlan");
}

inline double number(const nlohmann::json& value, const char* key) {
  const nlohmann::json& found = at(value, key);
  return found.is_number() ? found.get<double>() : 0;
}

inline uint64_t whole(const nlohmann::json& value, const char* key) {
  const nlohmann::json& found = at(value, key);
  if (found.is_number_unsigned()) return found.get<uint64_t>();
  const double number = found.is_number() ? found.get<double>() : 0;
  if (!(number > 0)) return 0;
  return number < 0x1p64 ? static_cast<uint64_t>(number) : UINT64_MAX;
}

inline bool flag(const nlohmann::json& value, const char* key) {
  const nlohmann::json& found = at(value, key);
  return found.is_boolean() && found.get<bool>();
}

inline std::string joined(const nlohmann::json& list, const char* separator) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : separator) + plain(item);
  return text;
}

// Of a worker: port:queue port:queue
inline std::string queues_of(const nlohmann::json& worker) {
  std::string words;
  for (const auto& queue : list(worker, "queues"))
    words += (words.empty() ? "" : " ") + text(queue, "port") + ":" + text(queue, "queue");
  return words;
}

// "-" for null, else formatted.
template <typename Format>
std::string shown(const nlohmann::json& value, const char* key, Format format) {
  return at(value, key).is_number() ? format(at(value, key).get<double>()) : "-";
}

}  // namespace hecto::cli
