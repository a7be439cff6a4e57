// From XFRM netlink messages to policies: pure functions from bytes to values.
//
// Hostile bytes give kMalformed, never a read past the end. Thread-safe: no state.
// Layouts: linux/xfrm.h; which attributes come with what: net/xfrm/xfrm_user.c.
#pragma once

#include <string>

#include "router/ipsec/esp/policy.hpp"
#include "router/linux/xfrm/decoded.hpp"

namespace hecto::router {

// XFRM_MSG_NEWPOLICY, UPDPOLICY.
XfrmDecoded decode_policy(const Message& message, IpsecPolicy& out, std::string& why);
// XFRM_MSG_DELPOLICY, and POLEXPIRE when it is hard. Direction, selector, if_id and index count.
XfrmDecoded decode_policy_removed(const Message& message, IpsecPolicy& out);
XfrmDecoded decode_policies_flushed(const Message& message);

}  // namespace hecto::router
