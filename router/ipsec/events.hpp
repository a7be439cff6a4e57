// What Linux says of SAs and policies, as the XFRM mirror tells it.
#pragma once

#include "router/ipsec/esp/policy.hpp"
#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router {

// What the XFRM mirror calls, on the control thread. Between resync_begin and resync_end the
// kernel's whole state is replayed; what was not replayed is gone by then.
class IpsecEvents {
 public:
  virtual ~IpsecEvents() = default;
  virtual void sa(SaState state) = 0;  // new, or in the place of the one with its id
  virtual void sa_removed(const SaId& id) = 0;
  virtual void sas_flushed() = 0;
  virtual void policy(
      const IpsecPolicy& policy) = 0;  // new, or in place of direction + selector + if_id
  virtual void policy_removed(const IpsecPolicy& policy) = 0;  // by direction, selector, if_id
  virtual void policies_flushed() = 0;
  virtual void ipsec_resync_begin() = 0;
  virtual void ipsec_resync_end() = 0;
};

}  // namespace hecto::router
