#include "router/linux/xfrm/decoded.hpp"

#include <linux/xfrm.h>

namespace hecto::router {

MessageKind xfrm_kind_of(uint16_t message_type) noexcept {
  switch (message_type) {
    case XFRM_MSG_NEWSA:
    case XFRM_MSG_UPDSA:
    case XFRM_MSG_DELSA:
    case XFRM_MSG_EXPIRE:
    case XFRM_MSG_FLUSHSA:
      return MessageKind::kSa;
    case XFRM_MSG_NEWPOLICY:
    case XFRM_MSG_UPDPOLICY:
    case XFRM_MSG_DELPOLICY:
    case XFRM_MSG_POLEXPIRE:
    case XFRM_MSG_FLUSHPOLICY:
      return MessageKind::kPolicy;
    default:
      return MessageKind::kOther;
  }
}

}  // namespace hecto::router
