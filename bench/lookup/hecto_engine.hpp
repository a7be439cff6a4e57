// Ours as an engine: the FIB in memory of DPDK's heap, with readers that it waits for.
#pragma once

#include "bench/lookup/engine.hpp"
#include "bench/lookup/rte_memory.hpp"
#include "router/dataplane/tables/tables.hpp"

namespace hecto::bench {

inline constexpr unsigned kMaxReaders = 16;

template <typename Family>
class HectoEngine final : public Engine<Family> {
 public:
  using Prefix = typename Family::Prefix;
  using Destination = typename Family::Destination;

  static Result<std::unique_ptr<HectoEngine>> create(unsigned batch);

  bool add(const Prefix& prefix, lookup::GroupId group) override {
    return fib_->add(prefix, group).has_value();
  }
  bool remove(const Prefix& prefix) override { return fib_->remove(prefix).has_value(); }
  void publish() override { fib_->publish(); }
  void lookup(const Destination* destinations, unsigned n) noexcept override {
    lookup::lookup_batch(fib_->view(socket_), destinations, groups_.data(), n);
  }
  lookup::GroupId group(unsigned i) const noexcept override { return groups_[i]; }
  uint64_t bytes() const override { return fib_->statistics().bytes; }

  auto view() const { return fib_->view(socket_); }  // for readers beside the writer
  router::Qsbr& readers() { return readers_; }

 private:
  HectoEngine() = default;

  RteMemory memory_;
  router::Qsbr readers_{kMaxReaders};
  int socket_ = 0;
  std::unique_ptr<typename Family::Fib> fib_;
  std::vector<lookup::GroupId> groups_;
};

}  // namespace hecto::bench
