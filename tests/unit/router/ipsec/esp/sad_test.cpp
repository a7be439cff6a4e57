#include "router/ipsec/esp/sad.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "router/ipsec/esp/sa.hpp"
#include "tests/beds/qsbr.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;
using lookup::Ipv4Address;
using lookup::Ipv6Address;

std::unique_ptr<Sa> make_sa(const SaId& id) {
  SaState state;
  state.id = id;
  state.mode = IpsecMode::kTransport;
  state.transform = {Cipher::kAesGcm, Integrity::kNone, 16, 16};
  state.keys.cipher_bytes = 20;
  auto sa = Sa::create(state);
  if (!sa) throw std::runtime_error(sa.error().message);
  return std::move(*sa);
}

SaId id4(uint32_t destination, Spi spi) {
  return {IpAddress::from(Ipv4Address{destination}), spi};
}

Sa* find(const Sad& sad, const SaId& id) {
  return sad.find(id.spi, id.destination.family, id.destination.bytes.data());
}

TEST(Sad, FindsBySpiDestinationAndFamily) {
  Sad sad;
  const SaId four{*IpAddress::parse("1.2.3.4"), 7};
  const SaId six{*IpAddress::parse("102:304::"), 7};  // the same bytes in another family
  auto sa4 = make_sa(four), sa6 = make_sa(six);
  ASSERT_TRUE(sad.insert(sa4.get()));
  EXPECT_EQ(find(sad, six), nullptr);
  ASSERT_TRUE(sad.insert(sa6.get()));
  EXPECT_EQ(find(sad, four), sa4.get());
  EXPECT_EQ(find(sad, six), sa6.get());
  EXPECT_EQ(find(sad, {four.destination, 8}), nullptr);
  EXPECT_EQ(find(sad, {*IpAddress::parse("1.2.3.5"), 7}), nullptr);
}

TEST(Sad, HasSasOfAFamilyFromTheFirstToTheLast) {
  Sad sad;
  const SaId four = id4(1, 1), six{*IpAddress::parse("2001:db8::1"), 7};
  auto sa4 = make_sa(four), again = make_sa(four), sa6 = make_sa(six);
  const auto has = [&sad] { return std::pair(sad.has(Family::kIpv4), sad.has(Family::kIpv6)); };
  EXPECT_EQ(has(), std::pair(false, false));
  ASSERT_TRUE(sad.insert(sa4.get()));
  EXPECT_EQ(has(), std::pair(true, false));
  ASSERT_TRUE(sad.insert(again.get()));
  ASSERT_TRUE(sad.insert(sa6.get()));
  EXPECT_EQ(has(), std::pair(true, true));
  EXPECT_EQ(sad.remove(four), again.get());
  EXPECT_EQ(sad.remove(four), nullptr);
  EXPECT_EQ(has(), std::pair(false, true)) << "the replaced one was no second";
  EXPECT_EQ(sad.remove(six), sa6.get());
  EXPECT_EQ(has(), std::pair(false, false));
}

TEST(Sad, InsertsIntoThePlaceOfTheSameIdAndSaysWhoWasThere) {
  Sad sad;
  const SaId id = id4(1, 1);
  auto old_sa = make_sa(id), new_sa = make_sa(id);
  EXPECT_EQ(*sad.insert(old_sa.get()), nullptr);
  EXPECT_EQ(*sad.insert(new_sa.get()), old_sa.get());
  EXPECT_EQ(find(sad, id), new_sa.get());
  EXPECT_EQ(sad.size(), 1u);
  EXPECT_EQ(sad.remove(id), new_sa.get());
  EXPECT_EQ(sad.remove(id), nullptr);
}

TEST(Sad, RefusesMoreThanItsMaximumAndTakesAReplacementAtIt) {
  Sad sad(2);
  auto first = make_sa(id4(1, 1)), second = make_sa(id4(1, 2)), third = make_sa(id4(1, 3));
  ASSERT_TRUE(sad.insert(first.get()));
  ASSERT_TRUE(sad.insert(second.get()));
  auto refused = sad.insert(third.get());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "there are 2 SAs already, as many as ipsec.max_sas allows");
  EXPECT_TRUE(sad.insert(make_sa(id4(1, 2)).release()));
  delete find(sad, id4(1, 2));
  sad.remove(id4(1, 1));
  EXPECT_TRUE(sad.insert(third.get()));
}

// Against a map, with few SPIs so that slots are used again and again.
TEST(Sad, AgreesWithAMapUnderRandomChanges) {
  SCOPED_TRACE(testing::Message() << "seed " << test_seed());
  std::mt19937_64 random(test_seed());
  Sad sad(2000);
  std::map<SaId, std::unique_ptr<Sa>> naive;
  auto random_id = [&]() -> SaId {
    const Spi spi(1 + random() % 1500);
    if (random() % 2 == 0) return id4(random() % 2, spi);
    Ipv6Address address;
    address.bytes[random() % 16] = 1;
    return {IpAddress::from(address), Spi(1 + spi % 100)};
  };
  for (int step = 0; step < 100'000; ++step) {
    const SaId id = random_id();
    const auto at = naive.find(id);
    ASSERT_EQ(find(sad, id), at == naive.end() ? nullptr : at->second.get());
    if (random() % 2 == 0) {
      auto sa = make_sa(id);
      auto inserted = sad.insert(sa.get());
      if (!inserted) {
        ASSERT_EQ(naive.size(), 2000u);
        continue;
      }
      ASSERT_EQ(*inserted, at == naive.end() ? nullptr : at->second.get());
      naive[id] = std::move(sa);
    } else {
      ASSERT_EQ(sad.remove(id), at == naive.end() ? nullptr : at->second.get());
      if (at != naive.end()) naive.erase(at);
    }
    ASSERT_EQ(sad.size(), naive.size());
  }
  std::vector<SaId> ids;
  for (int i = 0; i < 777; ++i) ids.push_back(random_id());
  std::vector<SadKey> keys;
  for (const SaId& id : ids)
    keys.push_back({id.spi, id.destination.family, id.destination.bytes.data()});
  std::vector<Sa*> found(keys.size());
  sad.find_batch(keys, found.data());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(found[i], find(sad, ids[i])) << i;
}

// SAs that stay are found at every moment, whatever comes and goes around them.
TEST(Sad, ReadersAlwaysFindWhatStays) {
  lookup::Qsbr readers(2);
  Sad sad(Sad::kDefaultMax, readers);
  std::vector<std::unique_ptr<Sa>> stay, change;
  for (uint32_t i = 0; i < 100; ++i) {
    stay.push_back(make_sa(id4(1, Spi(2 + i * 2))));
    ASSERT_TRUE(sad.insert(stay.back().get()));
  }
  for (uint32_t i = 0; i < 400; ++i) change.push_back(make_sa(id4(1, Spi(1 + i * 2))));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> missing{0}, wrong{0};
  auto read = [&](size_t reader) {
    std::mt19937 random(static_cast<uint32_t>(reader));
    while (!stop.load()) {
      for (int i = 0; i < 64; ++i) {
        const Spi spi(random() % 800);
        const Sa* sa = find(sad, id4(1, spi));
        if (sa == nullptr && spi >= 2 && spi <= 200 && spi % 2 == 0) missing.fetch_add(1);
        if (sa != nullptr && sa->id.spi != spi) wrong.fetch_add(1);
      }
      readers.quiescent(reader);
    }
  };
  std::thread one(read, 0), two(read, 1);
  for (int round = 0; round < 30; ++round) {
    for (auto& sa : change) ASSERT_TRUE(sad.insert(sa.get()));
    for (auto& sa : change) ASSERT_EQ(sad.remove(sa->id), sa.get());
    sad.reclaim();
  }
  stop.store(true);
  one.join();
  two.join();
  EXPECT_EQ(missing.load(), 0u);
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace hecto::router::esp
