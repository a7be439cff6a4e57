// Tables of every shape, and tables that change, held against the naive twin: every instruction
// set, every length of batch, no alignment.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "tests/beds/naive.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::lookup {
namespace {

// Changes of the long run; HECTO_UPDATES asks for another number.
uint64_t wanted_updates() {
  const char* wish = std::getenv("HECTO_UPDATES");
  return wish == nullptr ? 12'000 : std::strtoull(wish, nullptr, 10);
}

template <typename Kind>
class DifferentialTest : public ::testing::Test {
 protected:
  using Address = typename Kind::Address;
  using PrefixType = Prefix<Address>;
  static constexpr size_t kMaxBatch = 257;

  void add(const PrefixType& prefix) {
    // Few groups, so that neighbors often have the same; or many.
    auto group = static_cast<GroupId>(random_.rng()() & (few_groups_ ? 3 : kMaxGroupId.value()));
    ASSERT_TRUE(table_.add(prefix, group)) << prefix.to_string();
    naive_.add(prefix, group);
    present_.insert(prefix);
  }
  void remove(const PrefixType& prefix) {
    bool known = present_.erase(prefix) == 1;
    ASSERT_EQ(table_.remove(prefix).has_value(), known) << prefix.to_string();
    naive_.remove(prefix);
  }
  void remove_all() {
    while (!present_.empty()) remove(PrefixType(*present_.begin()));
    table_.publish();
  }

  enum Shape {
    kEmpty,
    kDefaultOnly,
    kNested,
    kAdjacent,
    kHosts,
    kFullCover,
    kEveryLength,
    kShapes
  };
  void build(unsigned shape) {
    Rng& rng = random_.rng();
    PrefixType some = random_.prefix();
    Address address = put_inside(some, random_address(rng, Address{}));
    switch (shape) {
      case kEmpty:
        return;
      case kDefaultOnly:
        return add(Kind::default_route());
      case kNested:
        for (int i = 0; i < 200; ++i) add(random_.prefix());
        return;
      case kAdjacent: {  // of one length, or two, in a row
        unsigned length = 8 + static_cast<unsigned>(rng() % (PrefixType::kMaxLength - 7));
        for (uint32_t i = 0; i < 300; ++i) add(in_row(address, length - i % (rng() % 2 + 1), i));
        return;
      }
      case kHosts:
        for (int i = 0; i < 300; ++i) {
          add(PrefixType::make(random_.destination(), PrefixType::kMaxLength));
        }
        return;
      case kFullCover:  // all addresses below 256, in a row
        for (uint32_t i = 0; i < 256; ++i) add(in_row(address, PrefixType::kMaxLength, i));
        return;
      case kEveryLength:
        for (unsigned length = shortest(); length <= PrefixType::kMaxLength; ++length) {
          add(PrefixType::make(address, static_cast<uint8_t>(length)));
        }
        return;
    }
  }
  // DIR-24-8 writes a short prefix into millions of entries: now and then will do.
  unsigned shortest() { return Kind::kIsDirect && random_.rng()() % 8 != 0 ? 9 : 0; }
  // The prefix `number` places behind that of `address`, counted by its last eight bits.
  PrefixType in_row(const Address& address, unsigned length, uint32_t number) {
    auto last = static_cast<uint8_t>(length);
    Address at = PrefixType::make(address, last > 8 ? last - 8 : 0).address;
    for (unsigned bit = 0; bit < 8 && bit < length; ++bit) {
      if ((number >> bit & 1) != 0) set_bit(at, length - 1 - bit);
    }
    prefixes_.push_back(PrefixType::make(at, last));
    return prefixes_.back();
  }
  static void set_bit(Ipv4Address& address, unsigned bit) { address.value |= 1u << (31 - bit); }
  static void set_bit(Ipv6Address& address, unsigned bit) {
    address.bytes[bit / 8] |= static_cast<uint8_t>(0x80 >> bit % 8);
  }

  // `lengths`: all batches up to kMaxBatch, else the longest alone.
  void verify(bool lengths) {
    std::vector<Address> destinations(kMaxBatch);
    std::vector<GroupId> expected(kMaxBatch);
    for (size_t i = 0; i < kMaxBatch; ++i) {
      destinations[i] = destination();
      expected[i] = naive_.lookup(destinations[i]);
    }
    // Odd addresses; the byte behind the last answer is nobody's.
    std::vector<char> from(kMaxBatch * sizeof(Address) + 1);
    std::vector<char> to(kMaxBatch * sizeof(GroupId) + 2);
    std::memcpy(from.data() + 1, destinations.data(), kMaxBatch * sizeof(Address));
    for (Isa isa : kAllIsas) {
      if (!is_supported(isa)) continue;
      Kernel kernel = Kind::kernel(kernels_of(isa));
      for (size_t n = lengths ? 1 : kMaxBatch; n <= kMaxBatch; ++n) {
        std::fill(to.begin(), to.end(), '\x5a');
        ASSERT_EQ(kernel(table_.arena(), Kind::kTable, from.data() + 1, to.data() + 1, n), isa);
        ASSERT_EQ(to[1 + n * sizeof(GroupId)], '\x5a') << "batch of " << n;
        if (std::memcmp(to.data() + 1, expected.data(), n * sizeof(GroupId)) == 0) continue;
        for (size_t i = 0; i < n; ++i) {
          GroupId group;
          std::memcpy(&group, to.data() + 1 + i * sizeof(group), sizeof(group));
          ASSERT_EQ(group, expected[i])
              << to_string(isa) << ", batch of " << n << ": " << destinations[i].to_string();
        }
      }
    }
  }
  Address destination() {
    if (prefixes_.empty() || random_.rng()() % 2 == 0) return random_.destination();
    const PrefixType& prefix = prefixes_[random_.rng()() % prefixes_.size()];
    return put_inside(prefix, random_address(random_.rng(), Address{}));
  }

  uint64_t seed_ = test_seed();
  testing::ScopedTrace trace_{__FILE__, __LINE__, testing::Message() << "seed " << seed_};
  RandomTable<Address> random_{seed_};
  TestTable<Kind> table_;
  NaiveFib<Address> naive_;
  std::set<PrefixType> present_;
  std::vector<PrefixType> prefixes_;  // that random_ does not know
  bool few_groups_ = false;
};
TYPED_TEST_SUITE(DifferentialTest, TableKinds);

TYPED_TEST(DifferentialTest, TwoHundredTablesOfEveryShape) {
  uint64_t empty = this->table_.statistics().used_bytes;
  for (unsigned number = 0; number < 200; ++number) {
    SCOPED_TRACE(testing::Message() << "table " << number);
    this->few_groups_ = number % 2 == 0;
    this->build(number % TestFixture::kShapes);
    // One in three has a second shape around or inside the first.
    if (number % 3 == 0) this->build(number / 7 % TestFixture::kShapes);
    this->verify(true);
    if (this->HasFatalFailure()) return;
    this->remove_all();
    ASSERT_EQ(this->table_.statistics().used_bytes, empty);
  }
}

TYPED_TEST(DifferentialTest, EveryThousandRandomUpdates) {
  Rng& rng = this->random_.rng();
  for (int i = 0; i < 3000; ++i) this->random_.prefix();
  uint64_t updates = wanted_updates();
  for (uint64_t update = 1; update <= updates; ++update) {
    auto prefix = rng() % 1000 == 0 ? this->random_.prefix() : this->random_.some();
    this->few_groups_ = update / 4000 % 2 == 0;
    // Grows and shrinks in turn.
    bool add = rng() % 8 < (update / 3000 % 2 == 0 ? 6 : 2);
    add ? this->add(prefix) : this->remove(prefix);
    if (this->HasFatalFailure()) return;
    if (update % 64 == 0) this->table_.publish();
    if (update % 1000 != 0) continue;
    for (int i = 0; i < 4; ++i) this->verify(false);
    ASSERT_FALSE(this->HasFatalFailure()) << "after " << update << " updates";
  }
}

// Arenas do not creep: whatever the order of the changes, they need one more step than at first
// (what is free lies in pieces, and readers keep some), and never a second one.
TYPED_TEST(DifferentialTest, UpdatesOfTheSamePrefixesDoNotCreep) {
  while (this->present_.size() < 4000) {
    auto prefix = this->random_.prefix();
    if (prefix.length >= TestFixture::PrefixType::kMaxLength / 2) this->add(prefix);
  }
  std::vector<Prefix<typename TypeParam::Address>> prefixes(this->present_.begin(),
                                                            this->present_.end());
  Rng& rng = this->random_.rng();
  auto run = [&](uint64_t changes) {
    for (uint64_t i = 0; i < changes; ++i) {
      const auto& prefix = prefixes[rng() % prefixes.size()];
      if (rng() % 4 != 0) {
        ASSERT_TRUE(this->table_.add(prefix, static_cast<GroupId>(rng() & kMaxGroupId)));
      } else {
        (void)this->table_.remove(prefix);
      }
      if (i % 64 == 0) this->table_.publish();
    }
  };
  uint64_t updates = std::max<uint64_t>(wanted_updates(), 100'000);
  run(updates / 5);
  uint64_t bytes = this->table_.statistics().bytes;
  for (int part = 0; part < 4; ++part) {
    run(updates / 5);
    EXPECT_LE(this->table_.statistics().bytes, bytes + bytes / 4)
        << "after " << part + 2 << " of 5 parts";
  }
}

}  // namespace
}  // namespace hecto::lookup
