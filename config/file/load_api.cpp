#include "config/file/load_api.hpp"

#include <fmt/format.h>
#include <string.h>

#include "config/file/key_file.hpp"
#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

constexpr std::string_view kEndpoint = "127.0.0.1:8080 or \"[::1]:8080\"";

void read_socket(const Value& value, Config& config) {
  const uint64_t most = api_keys["socket"].range.high;
  auto path = value.text("an absolute path");
  if (!path) return;
  if (!path->starts_with('/'))
    value.refuse("is not an absolute path; start it with /");
  else if (path->size() > most)
    value.refuse(
        fmt::format("has {} bytes; a UNIX socket's path has at most {}", path->size(), most));
  else
    config.api_socket = *path;
}

// Without TLS and passwords nothing but this machine is to reach it.
void read_http(const Value& value, Config& config) {
  const auto text = value.text(kEndpoint);
  if (!text) return;
  const auto endpoint = parse_endpoint(*text);
  const auto& [low, high, words] = api_keys["http"].range;
  if (!endpoint)
    value.refuse(fmt::format("is no address with a port; use {}", kEndpoint));
  else if (!is_loopback(endpoint->address))
    value.refuse(
        fmt::format("is no loopback address, and others must not reach it; use {}", kEndpoint));
  else if (endpoint->port < low || endpoint->port > high)
    value.refuse(fmt::format("has a port out of range; use {} to {}", low, high));
  else
    config.api_http = *endpoint;
}

// RFC 6750 §2.1: the letters of a token.
bool is_token(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";
  return text.size() >= kLeastTokenBytes && text.size() <= SecretKey::kMost &&
         text.find_first_not_of(kLetters) == std::string_view::npos;
}

void read_token(const Value& value, Loading& loading) {
  const KeyFiles files{loading.config.file, loading.limits.file};
  const auto path = key_file_path(value, files);
  if (!path) return;
  const std::string right = fmt::format(
      "one token of {} to {} letters and digits, as openssl rand "
      "-hex 32 makes it",
      kLeastTokenBytes, SecretKey::kMost);
  auto text = read_key_file(value, *path, files, right);
  if (!text) return;
  std::string_view token = *text;
  token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  if (is_token(token)) {
    loading.config.api_http_token_file = *path;
    loading.config.api_http_token = SecretKey::of(token);
  } else {
    value.refuse(fmt::format("holds no token; write {}", right));
  }
  explicit_bzero(text->data(), text->size());
}

}  // namespace

void load_api(const Value& value, Loading& loading) {
  Fields fields(value, api_keys.names, "a map, as {socket: /run/hecto/hecto.sock}");
  Config& config = loading.config;
  read_keys(fields, api_keys, config,
            {{"socket", [&](const Value& socket) { read_socket(socket, config); }},
             {"http", [&](const Value& http) { read_http(http, config); }},
             {"http_token_file", [&](const Value& file) { read_token(file, loading); }}});
  const Value* file = fields.get("http_token_file");
  if (file != nullptr && fields.get("http") == nullptr)
    file->complain("goes with http; add it, as http: 127.0.0.1:8080");
}

}  // namespace hecto::config
