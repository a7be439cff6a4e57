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
// SAs that went are removed only where nothing was.
std::vector<std::string> apply_ipsec(Ipsec& ipsec, const config::Difference& difference);
// Of the same difference the policies that are new alone: before the routes that they are for.
std::vector<std::string> add_new_policies(Ipsec& ipsec, const config::Difference& difference);
// Takes back what apply_ipsec() did of a difference that was refused: new SAs and policies go, old
// policies come back. An SA that was replaced stays as it is: put back it would begin its numbers
// anew, under the same key.
void undo_ipsec(Ipsec& ipsec, const config::Difference& difference);
std::vector<std::string> apply_ipsec(Ipsec& ipsec, const config::IpsecConfig& config);

}  // namespace hecto::router
