// From XFRM netlink messages to policies, as xfrm_decode.hpp does for SAs. Pure, thread-safe.
#pragma once

#include <string>

#include "router/linux/xfrm/xfrm_decode.hpp"

namespace hecto::router {

// XFRM_MSG_NEWPOLICY, UPDPOLICY.
XfrmDecoded decode_policy(const Message& message, IpsecPolicy& out, std::string& why);
// XFRM_MSG_DELPOLICY, and POLEXPIRE when it is hard. Direction, selector, if_id and index count.
XfrmDecoded decode_policy_removed(const Message& message, IpsecPolicy& out);
XfrmDecoded decode_policies_flushed(const Message& message);

}  // namespace hecto::router
