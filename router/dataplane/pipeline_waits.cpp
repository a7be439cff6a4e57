// Of the pipeline: the stages that may wait for a device, and what waits beside it.
#include "router/dataplane/offload/worker_offload.hpp"
#include "router/dataplane/pipeline.hpp"
#include "router/dataplane/stages/ipsec_stages.hpp"

namespace hecto::router {

void Pipeline::decap(Chunk& chunk, const PortView& port) noexcept {
  Decap& decap = options_.ipsec->decap;
  Observer* const observer = active_observer();
  bool done = decap.run(chunk, port, options_.tables, *snapshot_, counters_.reasons, observer);
  while (!done) {
    poll_decapped();
    done = decap.resume(chunk, port, *snapshot_, observer);
  }
}

void Pipeline::encap(Chunk& chunk) noexcept {
  Encap& encap = options_.ipsec->encap;
  Observer* const observer = active_observer();
  bool done = encap.run(chunk, options_.tables, *snapshot_, observer);
  while (!done) {
    poll_encapped();
    done = encap.resume(chunk, observer);
  }
  if (!encap.inline_encrypt().empty()) [[unlikely]]
    encap.inline_encrypt().transmit(transmitter_, *snapshot_, counters_.interfaces);
}

// ---- What waits beside it ----

// Each kind of answer goes into the stage behind its own, in the order of the pipeline.
void Pipeline::poll_offload() noexcept {
  if (options_.offload == nullptr) return;
  const bool esp = options_.offload->esp() != nullptr && options_.ipsec != nullptr;
  if (esp) poll_decapped();
  if (options_.offload->has_lookups()) poll_lookups();
  if (esp) poll_encapped();
}

void Pipeline::deliver(Entry entry, Chunk& chunk, unsigned packets) noexcept {
  delivered_ += packets;
  complete(entry, chunk);
  chunk.v4.count = chunk.v6.count = 0;  // both: a tunnel may change the family
}

void Pipeline::poll_decapped() noexcept {
  Chunk& chunk = options_.offload->opened_chunk();
  options_.ipsec->decap.poll(
      chunk, *snapshot_, [&](unsigned packets) { deliver(entries_.after_decap, chunk, packets); });
}

void Pipeline::poll_lookups() noexcept {
  WorkerOffload& offload = *options_.offload;
  Chunk& chunk = offload.chunk();
  const auto poll = [&](auto& lane, const auto& fib) {
    offload.of(lane).poll(lane, fib, offload,
                          [&] { deliver(entries_.after_lookup, chunk, lane.count); });
  };
  poll(chunk.v4, options_.tables.fib4);
  poll(chunk.v6, options_.tables.fib6);
}

void Pipeline::poll_encapped() noexcept {
  Chunk& chunk = options_.offload->sealed_chunk();
  options_.ipsec->encap.poll(
      chunk, [&](unsigned packets) { deliver(entries_.after_encap, chunk, packets); });
}

void Pipeline::drain() noexcept {
  if (options_.offload == nullptr) return;
  while (!options_.offload->empty()) poll_offload();
  transmitter_.flush_all();
}

void Pipeline::expire_fragments() noexcept {
  if (options_.ipsec != nullptr && options_.ipsec->decap.held() > 0) [[unlikely]]
    options_.ipsec->decap.expire(counters_.reasons);
}

}  // namespace hecto::router
