// What Ipsec and its tables are made with. Fixed while they live.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/log_level.hpp"
#include "lookup/memory.hpp"
#include "router/ipsec/device_keys.hpp"
#include "router/ipsec/esp/sad.hpp"
#include "router/ipsec/nic_crypto.hpp"

namespace hecto::router {

struct IpsecOptions {
  uint32_t max_sas = esp::Sad::kDefaultMax;
  uint32_t max_policies = 16384;
  esp::CryptoLibrary crypto = esp::best_crypto();  // that the workers' engines have
  lookup::Reclaimer* readers = &lookup::Reclaimer::none();
  DeviceKeys* device_keys = nullptr;  // null: all ESP is done on CPUs
  NicCrypto* nic = nullptr;           // null: no port's NIC has a part in it
  std::function<uint32_t()> now_s;    // the clock that workers use; default: CLOCK_MONOTONIC
  std::function<void(LogLevel, const std::string&)> log;  // one line an event; default: none
};

}  // namespace hecto::router
