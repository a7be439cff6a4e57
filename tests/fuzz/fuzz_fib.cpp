// Sequences of add and remove, held against the naive twin.
//
// Input: records of one operation byte and an address; the byte's top bit chooses add or remove,
// the rest the length. The table is emptied after every input, which tests removal too.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "lookup/fib.hpp"
#include "lookup/naive.hpp"

namespace {

using namespace hecto::lookup;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

Ipv4Address address_of(const uint8_t* bytes, Ipv4Address) {
  return {uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3]};
}
Ipv6Address address_of(const uint8_t* bytes, Ipv6Address) {
  Ipv6Address address;
  std::memcpy(address.bytes.data(), bytes, 16);
  return address;
}

GroupId lookup_one(const Fib4& fib, const Ipv4Address& address) {
  GroupId group;
  lookup_batch(fib.view(0), &address.value, &group, 1);
  return group;
}
GroupId lookup_one(const Fib6& fib, const Ipv6Address& address) {
  GroupId group;
  lookup_batch(fib.view(0), &address, &group, 1);
  return group;
}

template <typename Fib, typename Address>
void run(const uint8_t* data, size_t size) {
  // Short prefixes touch much memory, which is slow and reaches no other code.
  constexpr unsigned kShortest = 14;
  constexpr unsigned kLengths = Prefix<Address>::kMaxLength - kShortest + 1;
  static const std::unique_ptr<Fib> fib = Fib::create({.sockets = {0}, .max_nodes = 40}).value();
  NaiveFib<Address> naive;
  std::set<Prefix<Address>> present;
  GroupId group = 0;
  for (; size > sizeof(Address); data += 1 + sizeof(Address), size -= 1 + sizeof(Address)) {
    Address address = address_of(data + 1, Address{});
    auto length = static_cast<uint8_t>(kShortest + (data[0] & 0x7f) % kLengths);
    auto prefix = Prefix<Address>::make(address, length);
    if ((data[0] & 0x80) == 0) {
      auto added = fib->add(prefix, ++group);
      require(added || added.error() == Error::kTableFull, "add failed");
      if (added) {
        naive.add(prefix, group);
        present.insert(prefix);
      }
    } else {
      bool removed = fib->remove(prefix).has_value();
      require(removed == naive.remove(prefix), "remove disagrees");
      present.erase(prefix);
    }
    fib->publish();
    require(lookup_one(*fib, address) == naive.lookup(address), "look-up disagrees");
    for (const auto& each : present) {
      require(lookup_one(*fib, each.address) == naive.lookup(each.address), "look-up disagrees");
    }
  }
  for (const auto& prefix : present) require(fib->remove(prefix).has_value(), "remove failed");
  fib->publish();
  require(fib->statistics().nodes_used == 0, "nodes leaked");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 1024) return 0;
  if (data[0] & 1) {
    run<Fib4, Ipv4Address>(data + 1, size - 1);
  } else {
    run<Fib6, Ipv6Address>(data + 1, size - 1);
  }
  return 0;
}
