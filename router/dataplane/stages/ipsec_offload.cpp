// decap and encap of a worker that has a device: what leaves between the engine's steps, and what
// comes back.
#include "router/dataplane/stages/ipsec.hpp"
#include "router/ipsec/esp/sa.hpp"

namespace hecto::router {

// What the check refuses goes at once. What is gathered waits elsewhere: see Waiting.
bool IpsecStages::decap_beside_device(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                                      Observer* observer) noexcept {
  std::copy_n(packets_, count_, waiting_->packets);
  std::copy_n(work_, count_, waiting_->frames);
  EspDirection& opening = device_->opening();
  const auto work = engine_->check({waiting_->packets, count_}, opening.work());
  for (unsigned i = 0; i < count_; ++i)
    if (waiting_->packets[i].reason != Reason::kNone)
      deliver_inner(waiting_->packets[i], waiting_->frames[i], chunk, port, snapshot);
  opening.begin(work, waiting_->packets, waiting_->frames, observer != nullptr);
  return decap_rest(chunk, port, snapshot, observer);
}

bool IpsecStages::decap_rest(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                             Observer* observer) noexcept {
  EspDirection& opening = device_->opening();
  if (!opening.take()) return false;
  const std::span<esp::Work> here = opening.here();
  const uint64_t start = opening.now();
  engine_->open(here);
  opening.took_here(opening.now() - start);
  esp::Engine::accept(here, now_s());
  for (const esp::Work& work : here) {
    const auto i = static_cast<unsigned>(work.packet - waiting_->packets);
    const EspFrame& frame = waiting_->frames[i];
    const bool whole = deliver_inner(*work.packet, frame, chunk, port, snapshot);
    if (whole && observer != nullptr) [[unlikely]]
      observer->decapsulated(seen(i, *work.packet, frame));
  }
  return true;
}

// Under the snapshot of now, which may know the port otherwise than the one when it came in.
void IpsecStages::deliver_opened(std::span<esp::Work> work, const EspFrame* frames, Chunk& chunk,
                                 const Snapshot& snapshot) noexcept {
  esp::Engine::accept(work, now_s());
  for (size_t i = 0; i < work.size(); ++i)
    deliver_inner(*work[i].packet, frames[i], chunk, snapshot.ports[frames[i].packet->port],
                  snapshot);
}

bool IpsecStages::encap_beside_device(Chunk& chunk, const TableViews& tables,
                                      Observer* observer) noexcept {
  EspDirection& sealing = device_->sealing();
  const auto work = engine_->write({packets_, count_}, now_s(), kOuterHops, sealing.work());
  for (unsigned i = 0; i < count_; ++i)
    if (packets_[i].reason != Reason::kNone) deliver_outer(packets_[i], work_[i], chunk);
  sealing.begin(work, packets_, work_, observer != nullptr);
  return encap_rest(chunk, tables, observer);
}

bool IpsecStages::encap_rest(Chunk& chunk, const TableViews& tables, Observer* observer) noexcept {
  EspDirection& sealing = device_->sealing();
  if (!sealing.take()) return false;
  const std::span<esp::Work> here = sealing.here();
  const uint64_t start = sealing.now();
  engine_->seal(here);
  sealing.took_here(sealing.now() - start);
  esp::Engine::finish(here);
  for (const esp::Work& work : here) {
    const auto i = static_cast<unsigned>(work.packet - packets_);
    const bool whole = deliver_outer(*work.packet, work_[i], chunk);
    if (whole && observer != nullptr) [[unlikely]]
      observer->encapsulated(seen(i, *work.packet, work_[i]));
  }
  deliver_answers(chunk, tables);
  return true;
}

void IpsecStages::deliver_sealed(std::span<esp::Work> work, const EspFrame* frames,
                                 Chunk& chunk) noexcept {
  esp::Engine::finish(work);
  for (size_t i = 0; i < work.size(); ++i) deliver_outer(*work[i].packet, frames[i], chunk);
}

}  // namespace hecto::router
