// Keys of SAs for the devices: which transforms these can do, and the table that feeds them.
// Control thread.
#pragma once

#include "gpu_offload/key_table.hpp"
#include "router/ipsec/device_keys.hpp"

namespace hecto::router {

class EspKeys final : public DeviceKeys {
 public:
  // 71 MB, here and twice on each device; an SA beyond them is the CPU's.
  static constexpr uint32_t kMost = 65536;

  uint32_t add(const esp::Transform& transform, const esp::Keys& keys) override;
  void remove(uint32_t index) override { table_.remove(index); }

  gpu_offload::KeyTable& table() { return table_; }
  const gpu_offload::KeyTable& table() const { return table_; }

 private:
  gpu_offload::KeyTable table_{kMost};
  bool warned_full_ = false;
};

}  // namespace hecto::router
