// decap, before look-up: ESP that an SA of ours answers for leaves its lane, is checked and
// decrypted, and comes back as the packet inside, classified as if it had just come in.
//
//   lanes ─► [fragments put together] ─► SAD ─► batch ─► check ─┬─► this core ─┬─► accept ─► lanes
//     ▲                                                         └─► device ────┘    │
//     └─ decrypted by the port's NIC ─► InlineDecrypt ─► accept ─► lanes            └─► refused
//
// With a device run() may have to wait for room there: it is false, the caller polls, and resume()
// goes on. Not thread-safe.
#pragma once

#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/stages/esp_state.hpp"
#include "router/dataplane/stages/inline_crypto.hpp"
#include "router/dataplane/stages/reassembly.hpp"

namespace hecto::router {

class VrfTables;

class Decap {
 public:
  // `device`: may be null.
  Decap(const EspState& state, EspDirection* device) : state_(state), device_(device) {}

  // `observer`: may be null; else none of these packets goes to a device with nothing in flight.
  bool run(Chunk& chunk, const PortView& port, const TableViews& tables, const Snapshot& snapshot,
           ReasonCounters& reasons, Observer* observer) noexcept;
  // Until it is true no other run().
  bool resume(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
              Observer* observer) noexcept;
  // What the device has decrypted, as run() would have left it in `chunk`: next(packets) for each
  // chunk of them, which is to be empty again when that returns.
  template <typename Next>
  void poll(Chunk& chunk, const Snapshot& snapshot, Next&& next) noexcept {
    device_->poll(*state_.engine, [&](std::span<esp::Work> work, const EspFrame* frames) {
      deliver_decrypted(work, frames, chunk, snapshot);
      next(static_cast<unsigned>(work.size()));
    });
  }

  void prepare() noexcept { reassembly_.prepare(); }  // control, before it runs
  // Fragments that wait for others; expire() gives up those that have waited for too long.
  uint32_t held() const noexcept { return reassembly_.held(); }
  void expire(ReasonCounters& reasons) noexcept { reassembly_.expire(reasons); }

 private:
  template <typename Address>
  bool reassemble(Lane<Address>& lane, unsigned i, const VrfTables& tables,
                  ReasonCounters& reasons) noexcept;
  template <typename Address>
  void gather(Lane<Address>& lane, Chunk& chunk, const VrfTables& tables,
              ReasonCounters& reasons) noexcept;
  void run_decrypted_by_nic(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                            Observer* observer) noexcept;
  bool start_beside_device(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                           Observer* observer) noexcept;
  bool deliver(const esp::Packet& inner, const EspFrame& frame, Chunk& chunk, const PortView& port,
               const Snapshot& snapshot) noexcept;
  void deliver_and_show(unsigned i, Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                        Observer* observer) noexcept;
  void deliver_decrypted(std::span<esp::Work> work, const EspFrame* frames, Chunk& chunk,
                         const Snapshot& snapshot) noexcept;

  EspState state_;
  EspDirection* device_;
  Reassembly reassembly_;
  InlineDecrypt inline_decrypt_{state_};
  EspBatch batch_;
};

}  // namespace hecto::router
