// Where the keys of SAs go for the offload devices. Called on the control thread.
#pragma once

#include <cstdint>

#include "router/ipsec/esp/sa.hpp"

namespace hecto::router {

class DeviceKeys {
 public:
  virtual ~DeviceKeys() = default;
  // Their index on every device; esp::kNoDeviceKey where devices cannot do the transform, or have
  // no room.
  virtual uint32_t add(const esp::Transform& transform, const esp::Keys& keys) = 0;
  // No worker holds a packet of that SA any more.
  virtual void remove(uint32_t index) = 0;
};

}  // namespace hecto::router
