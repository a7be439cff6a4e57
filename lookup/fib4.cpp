#include <new>

#include "lookup/fib.hpp"
#include "lookup/kernels.hpp"
#include "lookup/multibit_table.hpp"

namespace hecto::lookup {
namespace {

struct Ipv4Traits {
  using Address = Ipv4Address;
  using Entry = uint16_t;
  static constexpr Entry kExtended = LOOKUP_EXTENDED4;
  static constexpr uint32_t kMagic = 0x01344648;   // "HF4\1"
  static constexpr uint32_t kDefaultNodes = 8192;  // 4 MB; the full table uses 451
  static constexpr uint32_t kMaxNodes = kExtended;
  static uint32_t root_index(Ipv4Address address) { return address.value >> 8; }
  static uint32_t node_index(Ipv4Address address, unsigned) { return address.value & 0xff; }
};

}  // namespace

struct Fib4::State : MultibitTable<Ipv4Traits> {
  using MultibitTable::MultibitTable;
};

Fib4::Fib4() = default;
Fib4::~Fib4() = default;

tl::expected<std::unique_ptr<Fib4>, Error> Fib4::create(const FibOptions& options, Memory& memory,
                                                        Reclaimer& reclaimer) {
  kernels();
  std::unique_ptr<Fib4> fib(new Fib4);
  fib->state_ = std::make_unique<State>(options, reclaimer);
  if (!fib->state_->allocate(options, memory)) return tl::unexpected(Error::kNoMemory);
  return fib;
}

tl::expected<void, Error> Fib4::add(Prefix4 prefix, GroupId group) {
  return state_->add(prefix, group);
}
tl::expected<void, Error> Fib4::remove(Prefix4 prefix) {
  return state_->remove(prefix);
}
void Fib4::publish() {
  state_->publish();
}
Fib4View Fib4::view(int socket) const {
  return {state_->arena(socket)};
}
FibStatistics Fib4::statistics() const {
  return state_->statistics();
}

void lookup_batch(Fib4View view, const uint32_t* destinations, GroupId* groups, size_t n) noexcept {
  kernels().lookup4(view.arena, destinations, groups, n);
}

}  // namespace hecto::lookup
