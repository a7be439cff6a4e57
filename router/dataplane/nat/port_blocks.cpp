#include "router/dataplane/nat/port_blocks.hpp"

namespace hecto::router::nat {

bool PortBlocks::create(const Layout& layout, uint32_t worker, const uint64_t (&secret)[2],
                        lookup::Memory& memory, int socket) noexcept {
  layout_ = layout;
  worker_ = worker;
  words_ = (1u << layout.block_shift) / 64;
  secret_[0] = secret[0];
  secret_[1] = secret[1];
  count_ = layout.blocks_of(worker);
  if (!blocks_.create(count_, memory, socket) || !hosts_.create(count_, memory, socket) ||
      !bits_.create(count_ * kSessionKinds * words_, memory, socket) ||
      !free_of_.create(layout.addresses, memory, socket) ||
      !host_index_.create(static_cast<uint32_t>(count_), memory, socket))
    return false;
  for (uint32_t place = 0; place < layout.addresses; ++place) free_of_[place] = kNobody;
  for (auto block = static_cast<uint32_t>(count_); block-- > 0;) {
    const uint32_t place = pool_block(block) / layout.blocks_per_address;
    blocks_[block] = {kNobody, free_of_[place], 0};
    free_of_[place] = block;
    hosts_[block].next = free_host_;
    free_host_ = block;
  }
  return true;
}

uint64_t PortBlocks::bytes() const noexcept {
  return blocks_.bytes() + bits_.bytes() + hosts_.bytes() + free_of_.bytes() + host_index_.bytes();
}

// From a random one on (RFC 6056 §3.3.1), round.
std::optional<uint32_t> PortBlocks::free_bit(uint32_t block, Kind kind, uint64_t random) noexcept {
  const uint64_t* const map = bits(block, kind);
  const auto start = static_cast<uint32_t>(random & (words_ * 64 - 1));
  const uint32_t first = start / 64;
  const uint64_t above = ~uint64_t{0} << (start % 64);
  for (uint32_t i = 0; i <= words_; ++i) {
    const uint32_t word = (first + i) & (words_ - 1);
    uint64_t free = ~map[word];
    if (i == 0) free &= above;
    if (i == words_) free &= ~above;
    if (free != 0) return word * 64 + static_cast<uint32_t>(std::countr_zero(free));
  }
  return std::nullopt;
}

// Without a block yet. At an address that has free ones; which first, says the host's.
uint32_t PortBlocks::new_host(uint32_t address) noexcept {
  if (used_blocks_.get() == count_) return kNobody;
  const uint64_t hash = mixed(address, secret_);
  auto place = static_cast<uint32_t>((hash >> 32) * layout_.addresses >> 32);
  for (uint32_t tried = 0; free_of_[place] == kNobody; ++tried) {
    if (tried == layout_.addresses) return kNobody;
    place = place + 1 == layout_.addresses ? 0 : place + 1;
  }
  const uint32_t number = free_host_;
  if (number == kNobody || !host_index_.insert(hash, number)) return kNobody;
  Host& host = hosts_[number];
  free_host_ = host.next;
  host = {address, place, kNobody, 0, 0, kNobody};
  hosts_used_.add(1);
  return number;
}

uint32_t PortBlocks::add_block(uint32_t number) noexcept {
  Host& host = hosts_[number];
  const uint32_t block = free_of_[host.place];
  if (block == kNobody) return kNobody;
  free_of_[host.place] = blocks_[block].next;
  blocks_[block] = {number, host.first, 0};
  host.first = block;
  ++host.blocks;
  used_blocks_.add(1);
  events_.add({host.address, pool_block(block), true});
  return block;
}

Reason PortBlocks::take(uint32_t host_address, Kind kind, const HostLimits& limits, uint64_t random,
                        Port& taken) noexcept {
  const uint64_t hash = mixed(host_address, secret_);
  uint32_t number =
      host_index_.find(hash, [&](uint32_t each) { return hosts_[each].address == host_address; });
  if (number == kNobody) number = new_host(host_address);
  if (number == kNobody) return Reason::kNatNoPort;
  Host& host = hosts_[number];
  if (host.sessions >= limits.sessions) return Reason::kNatLimit;
  uint32_t block = host.first;
  std::optional<uint32_t> bit;
  for (; block != kNobody; block = blocks_[block].next)
    if ((bit = free_bit(block, kind, random))) break;
  if (!bit) {
    if (host.blocks >= limits.blocks) return Reason::kNatLimit;
    block = add_block(number);
    if (block == kNobody) return Reason::kNatNoPort;
    bit = free_bit(block, kind, random);
  }
  bits(block, kind)[*bit / 64] |= uint64_t{1} << (*bit % 64);
  ++blocks_[block].used;
  ++host.sessions;
  const uint32_t in_address = pool_block(block) % layout_.blocks_per_address;
  taken.host = number;
  taken.block = block;
  taken.address = host.place;
  taken.port =
      static_cast<uint16_t>(layout_.first_port + (in_address << layout_.block_shift) + *bit);
  return Reason::kNone;
}

void PortBlocks::drop_block(Host& host, uint32_t number, uint32_t block) noexcept {
  uint32_t* link = &host.first;
  while (*link != block) link = &blocks_[*link].next;
  *link = blocks_[block].next;
  blocks_[block] = {kNobody, free_of_[host.place], 0};
  free_of_[host.place] = block;
  used_blocks_.add(~uint64_t{0});
  events_.add({host.address, pool_block(block), false});
  if (--host.blocks != 0) return;
  host_index_.erase(mixed(host.address, secret_), number);
  host.next = free_host_;
  free_host_ = number;
  hosts_used_.add(~uint64_t{0});
}

void PortBlocks::give_back(uint32_t number, uint32_t block, uint16_t port, Kind kind) noexcept {
  Host& host = hosts_[number];
  const uint32_t bit =
      static_cast<uint32_t>(port - layout_.first_port) & ((1u << layout_.block_shift) - 1);
  bits(block, kind)[bit / 64] &= ~(uint64_t{1} << (bit % 64));
  --host.sessions;
  if (--blocks_[block].used == 0) drop_block(host, number, block);
}

}  // namespace hecto::router::nat
