#include <new>

#include "lookup/fib.hpp"
#include "lookup/kernels.hpp"
#include "lookup/multibit_table.hpp"

namespace hecto::lookup {
namespace {

struct Ipv6Traits {
  using Address = Ipv6Address;
  using Entry = uint32_t;
  static constexpr Entry kExtended = LOOKUP_EXTENDED6;
  static constexpr uint32_t kMagic = 0x01364648;      // "HF6\1"
  static constexpr uint32_t kDefaultNodes = 1 << 17;  // 128 MB; the full table uses 38,096
  static constexpr uint32_t kMaxNodes = 1 << 22;
  static uint32_t root_index(const Ipv6Address& address) {
    return uint32_t{address.bytes[0]} << 16 | uint32_t{address.bytes[1]} << 8 | address.bytes[2];
  }
  static uint32_t node_index(const Ipv6Address& address, unsigned level) {
    return address.bytes[3 + level];
  }
};

}  // namespace

struct Fib6::State : MultibitTable<Ipv6Traits> {
  using MultibitTable::MultibitTable;
};

Fib6::Fib6() = default;
Fib6::~Fib6() = default;

tl::expected<std::unique_ptr<Fib6>, Error> Fib6::create(const FibOptions& options, Memory& memory,
                                                        Reclaimer& reclaimer) {
  kernels();
  std::unique_ptr<Fib6> fib(new Fib6);
  fib->state_ = std::make_unique<State>(options, reclaimer);
  if (!fib->state_->allocate(options, memory)) return tl::unexpected(Error::kNoMemory);
  return fib;
}

tl::expected<void, Error> Fib6::add(Prefix6 prefix, GroupId group) {
  return state_->add(prefix, group);
}
tl::expected<void, Error> Fib6::remove(Prefix6 prefix) {
  return state_->remove(prefix);
}
void Fib6::publish() {
  state_->publish();
}
Fib6View Fib6::view(int socket) const {
  return {state_->arena(socket)};
}
FibStatistics Fib6::statistics() const {
  return state_->statistics();
}

void lookup_batch(Fib6View view, const Ipv6Address* destinations, GroupId* groups,
                  size_t n) noexcept {
  kernels().lookup6(view.arena, destinations, groups, n);
}

}  // namespace hecto::lookup
