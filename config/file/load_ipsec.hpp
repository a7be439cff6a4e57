// The parts of load_ipsec.cpp and load_ipsec_policies.cpp that the other needs.
#pragma once

#include <optional>

#include "config/file/ipsec.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

struct Loading;

// `base`: the file in whose folder relative key files lie.
std::optional<IpsecSaConfig> read_ipsec_sa(const Value& value, const std::string& base);
std::optional<IpsecPolicyConfig> read_ipsec_policy(const Value& value);
void load_ipsec_sas(const Value& value, Loading& loading);
void load_ipsec_policies(const Value& value, Loading& loading);

std::optional<uint32_t> read_spi(const Value& value);
std::optional<IpsecMode> read_ipsec_mode(const Value& value);
std::optional<lookup::IpAddress> read_ipsec_end(const Value& value);  // a unicast address

}  // namespace hecto::config
