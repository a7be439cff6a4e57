// The stages of IPsec of one thread: of each worker, and of the slow path. Compiled into a pipeline
// only while there is an SA or a policy.
//
//   decap          before look-up: ESP that an SA of ours answers for, as what was inside
//   policy check   after look-up: inbound and outbound policies; what one protects leaves the lanes
//   Linux check    what Linux sends, first of all: whose ESP, and what no lane takes
//   encap          what is to be protected, as ESP to its tunnel's end
//
// The crypto of a packet is done by one of three: this core (esp::Engine), the egress or ingress
// port's NIC (inline_crypto.hpp), a device (offload/esp_offload.hpp). By which SA a packet came in
// goes with it in its mbuf (sa_mark.hpp).
#pragma once

#include <memory>

#include "router/dataplane/stages/decap.hpp"
#include "router/dataplane/stages/encap.hpp"
#include "router/dataplane/stages/linux_check.hpp"
#include "router/dataplane/stages/policy_check.hpp"

namespace hecto::router {

class IpsecStages {
 public:
  struct Options {
    esp::IpsecView tables;
    SaMark mark;                                   // of register_sa_mark()
    const std::atomic<uint32_t>* now_s = nullptr;  // a clock that control moves
    esp::CryptoLibrary crypto = esp::best_crypto();
  };
  // Refuses where the crypto library does not run. `device`: the worker's; may be null, and then
  // decap and encap never wait.
  static Result<std::unique_ptr<IpsecStages>> create(const Options& options,
                                                     EspOffload* device = nullptr);

 private:
  IpsecStages(const EspState& state, std::unique_ptr<esp::Engine> engine, EspOffload* device)
      : engine_(std::move(engine)),
        decap(state, device == nullptr ? nullptr : &device->opening()),
        linux_check(state),
        policy_check(state),
        sa_flag(state.mark.flag),
        encap(state, device == nullptr ? nullptr : &device->sealing()) {}

  std::unique_ptr<esp::Engine> engine_;  // of all three, and before them

 public:
  Decap decap;
  LinuxCheck linux_check;
  PolicyCheck policy_check;
  const uint64_t sa_flag;  // in ol_flags of what came in by an SA, until the policy check
  Encap encap;
};

}  // namespace hecto::router
