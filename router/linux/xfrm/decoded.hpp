// What came of an XFRM message. What each kind of message is: decode_sa.hpp, decode_policy.hpp.
#pragma once

#include <cstdint>

#include "router/linux/decode.hpp"

namespace hecto::router {

enum class XfrmDecoded : uint8_t {
  kEvent,
  kIgnored,      // sound, and nothing for a router: another protocol, a state without keys yet
  kUnsupported,  // `why` says what hectod cannot do; an SA's id is filled in all the same
  kStandIn,      // the same of a policy: `out` discards what the kernel would have protected
  kMalformed,
};

// kSa: NEWSA, UPDSA, DELSA, EXPIRE, FLUSHSA; kPolicy likewise; else kOther.
MessageKind xfrm_kind_of(uint16_t message_type) noexcept;

}  // namespace hecto::router
