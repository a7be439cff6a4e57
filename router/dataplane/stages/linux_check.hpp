// What Linux sends, before it leaves: every frame, however it is packed.
//
//   frame ─┬─ ESP by an SA that hectod has ────────────────────────► esp_of_linux
//          ├─ an IP packet that can be protected ─► PolicyCheck::from_linux ─► ESP, or as it is
//          └─ any other IP packet ─► the policy lets it pass ─► as it is
//                                  └ else, by its name: in clear it must not leave
//
// Two senders on one SA would use numbers twice, and with them nonces.
#pragma once

#include "router/dataplane/stages/esp_state.hpp"
#include "router/dataplane/stages/framed_ip.hpp"

namespace hecto::router {

class VrfTables;

class LinuxCheck {
 public:
  explicit LinuxCheck(const EspState& state) : state_(state) {}

  // kNone: it may leave by the interface as it is or, where `by_policy`, goes to PolicyCheck, which
  // judges it.
  Reason check(const FramedIp& frame, InterfaceId interface, bool by_policy,
               const VrfTables& tables) const noexcept;

 private:
  bool made_by_linux(const FramedIp& frame, InterfaceId interface,
                     const VrfTables& tables) const noexcept;
  bool is_ours(const FramedIp& frame, const uint8_t* spi, bool in_udp) const noexcept;

  EspState state_;
};

}  // namespace hecto::router
