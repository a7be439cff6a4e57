// Reads the policies of `ipsec:`.
#pragma once

#include <string>
#include <string_view>

#include "config/file/loading.hpp"

namespace hecto::config {

void load_ipsec_policies(const Value& value, Loading& loading);

// One policy, as parse_ipsec_sa() reads one SA.
tl::expected<IpsecPolicyConfig, Problems> parse_ipsec_policy(std::string_view yaml,
                                                             const std::string& file_name,
                                                             bool* persist = nullptr);

}  // namespace hecto::config
