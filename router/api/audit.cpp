#include "router/api/audit.hpp"

#include <fmt/format.h>
#include <pwd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace hecto::router {
namespace {

using nlohmann::json;

constexpr size_t kReadBytes = 4096;  // of a body; a longer one is not read for a line of the log
constexpr size_t kShownBytes = 300;
constexpr size_t kOutcomeBytes = 1000;

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string cut(std::string text, size_t most) {
  if (text.size() > most) text.replace(most, std::string::npos, "...");
  return text;
}

json body_of(const HttpRequest& request) {
  if (request.body.empty() || request.body.size() > kReadBytes) return json::value_t::discarded;
  return json::parse(request.body, nullptr, false);
}

// Also where they do not belong.
void hide_keys(json& words) {
  for (const char* key : {"key", "integrity_key"})
    if (words.is_object() && words.contains(key)) words[key] = "hidden";
}

std::string shown_body(const HttpRequest& request) {
  if (request.body.empty()) return {};
  json body = body_of(request);
  hide_keys(body);
  if (body.is_discarded()) return fmt::format(" of {} bytes", request.body.size());
  return " " + cut(dumped(body), kShownBytes);
}

// Not its key.
std::string shown_sa(const HttpRequest& request) {
  const json body = body_of(request);
  json kept = json::object();
  if (body.is_object())
    for (const char* key : {"source", "destination", "spi", "persist"})
      if (body.contains(key)) kept[key] = body[key];
  return " " + cut(dumped(kept), kShownBytes);
}

// Without the name that errors call a file by: a long one would push out the rest.
std::string shown_query(const HttpRequest& request) {
  json query(request.query);
  if (query.is_object()) query.erase("name");
  hide_keys(query);
  return query.empty() ? std::string() : " " + cut(dumped(query), kShownBytes);
}

std::string user_name(uint32_t uid) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/etc/passwd", "re"), std::fclose);
  if (!file) return {};
  std::vector<char> room(4096);
  passwd entry{};
  passwd* found = nullptr;
  while (::fgetpwent_r(file.get(), &entry, room.data(), room.size(), &found) == 0)
    if (entry.pw_uid == uid) return entry.pw_name;
  return {};
}

std::string outcome(const HttpAnswer& answer) {
  const json body = json::parse(answer.body, nullptr, false);
  if (answer.status == 200) {
    std::string text = "done";
    if (!body.is_object()) return text;
    if (body.contains("changes")) text += fmt::format(", {} changes", body["changes"].size());
    for (const char* count : {"changed", "added", "replaced", "removed"})
      if (body.contains(count)) text += fmt::format(", {} {}", dumped(body[count]), count);
    return text;
  }
  std::string text = answer.status < 500 ? "refused: " : "failed: ";
  if (!body.is_object()) return text + std::to_string(answer.status);
  text += body.value("error", std::to_string(answer.status));
  for (const json& problem : body.value("problems", json::array()))
    if (problem.is_string()) text += "; " + problem.get<std::string>();
  return cut(std::move(text), kOutcomeBytes);
}

}  // namespace

std::optional<std::string> change_in(const HttpRequest& request) {
  const std::string& path = request.path;
  if (path == "/v1/capture/keys") return "read of the keys of all SAs";
  if (request.method == "GET") return std::nullopt;
  const bool add = request.method == "POST";
  if (path == "/v1/reload") return "reload" + shown_body(request);
  if (path == "/v1/confirm") return "confirm";
  if (path == "/v1/rollback") return "rollback";
  if (path == "/v1/routes/load")
    return fmt::format("load-routes of {} bytes{}", request.body.size(), shown_query(request));
  if (path == "/v1/routes")
    return (add ? "route add" : "route delete") + shown_query(request) + shown_body(request);
  if (path == "/v1/flows/load")
    return fmt::format("flow load of {} bytes{}", request.body.size(), shown_query(request));
  if (path == "/v1/flows")
    return (add ? "flow add" : "flow delete") + shown_query(request) + shown_body(request);
  if (path == "/v1/ipsec/sas")
    return add ? "SA add" + shown_sa(request) : "SA delete" + shown_query(request);
  if (path == "/v1/ipsec/policies")
    return (add ? "policy add" : "policy delete") + shown_body(request);
  return std::nullopt;
}

std::string who(const HttpPeer& peer) {
  if (!peer.uid) return "nobody that is known (HTTP on loopback)";
  const std::string name = user_name(*peer.uid);
  return fmt::format("{} (uid {}), pid {}", name.empty() ? "a user" : name, *peer.uid, peer.pid);
}

std::string audit_line(const std::string& change, const HttpPeer& peer, const HttpAnswer& answer) {
  std::string line = fmt::format("{} by {}: {}", change, who(peer), outcome(answer));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return line;
}

}  // namespace hecto::router
