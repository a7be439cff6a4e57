// /v1/sets.
#include "router/api/request.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

// {"set": NAME, "add": [PREFIX, ...], "remove": [...]}
ApiResult post_set(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  SetChange change;
  const json body = body_json(request);
  for (const auto& [key, value] : body.items()) {
    auto* const list = key == "add" ? &change.add : key == "remove" ? &change.remove : nullptr;
    if (key == "set" && value.is_string()) {
      change.set = value.get<std::string>();
    } else if (list != nullptr && value.is_array() && value.size() <= kMostSetChanges) {
      for (const json& word : value) {
        const auto prefix = word.is_string() ? lookup::IpPrefix::parse(word.get<std::string>())
                                             : std::optional<lookup::IpPrefix>();
        if (!prefix)
          throw Wrong{400, fmt::format("sets: {}: {} is no prefix, or has host bits; use one like "
                                       "203.0.113.0/24",
                                       key, quoted(word.dump()))};
        list->push_back(*prefix);
      }
    } else {
      throw Wrong{400, fmt::format("sets: {}: use {{\"set\": NAME, \"add\": [PREFIX, ...], "
                                   "\"remove\": [...]}}, at most {} of each",
                                   quoted(key), kMostSetChanges)};
    }
  }
  if (change.set.empty()) throw Wrong{400, "sets: which set? as {\"set\": \"blocked\"}"};
  if (change.add.empty() && change.remove.empty())
    throw Wrong{400, "sets: add or remove what? as {\"add\": [\"203.0.113.0/24\"]}"};
  return backend.change_set(change);
}

}  // namespace

std::optional<ApiResult> answer_sets(ApiBackend& backend, const HttpRequest& request) {
  if (request.path != "/v1/sets") return std::nullopt;
  if (request.method != "POST") throw no_such(request, "POST");
  return post_set(backend, request);
}

}  // namespace hecto::router
