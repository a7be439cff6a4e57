// SAs and policies of the configuration and the API, on their way into Ipsec.
#pragma once

#include <string>
#include <vector>

#include "config/file/diff.hpp"
#include "config/file/ipsec.hpp"
#include "router/ipsec/ipsec.hpp"

namespace hecto::router {

// Errors are one line; no key is in any.
Result<SaState> sa_state(const config::IpsecSaConfig& config, RouteOrigin origin);
IpsecPolicy ipsec_policy(const config::IpsecPolicyConfig& config, RouteOrigin origin);

// What of the difference would be refused: empty when all fits.
std::vector<std::string> check_ipsec(const Ipsec& ipsec, const config::Difference& difference);
// Changed SAs and policies are replaced where they are, so that no packet meets a gap. Returns what
// was refused.
std::vector<std::string> apply_ipsec(Ipsec& ipsec, const config::Difference& difference);
std::vector<std::string> apply_ipsec(Ipsec& ipsec, const config::IpsecConfig& config);

}  // namespace hecto::router
