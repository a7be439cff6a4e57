// Routes, SAs and policies as text that reads back, keys and all: what the API was asked to keep. The
// same words as in the file, but that a key is never in a file of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/secret_memory.hpp"
#include "config/file/config.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

struct KeptItems {
  std::vector<RouteConfig> routes;
  std::vector<IpsecSaConfig> sas;
  std::vector<IpsecPolicyConfig> policies;
  bool empty() const { return routes.empty() && sas.empty() && policies.empty(); }
  bool operator==(const KeptItems&) const = default;
};

SecretBytes to_yaml(const KeptItems& items);  // throws std::bad_alloc
// `name` stands in front of what is wrong.
tl::expected<KeptItems, Problems> parse_kept_items(std::string_view yaml, const std::string& name);

}  // namespace hecto::config
