// What ports' NICs do of ESP. Called on the control thread.
#pragma once

#include <memory>

#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/views.hpp"

namespace hecto::router {

class NicCrypto {
 public:
  virtual ~NicCrypto() = default;
  // The SA is in the SAD. May be said again, also of SAs that NICs had no part in.
  virtual void add(esp::Sa& sa, const std::shared_ptr<const esp::Keys>& keys) = 0;
  virtual void leave(esp::Sa& sa) = 0;         // nobody finds it any more; workers may hold it
  virtual void forget(const esp::Sa& sa) = 0;  // nobody holds it any more
  virtual NicUse use(const esp::Sa& sa) const = 0;
};

}  // namespace hecto::router
