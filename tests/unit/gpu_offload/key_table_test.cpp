// The keys of SAs on their way to devices, and when an index may be given again.
#include "gpu_offload/key_table.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/scripted.hpp"

namespace hecto::gpu_offload {
namespace {

using crypto::EspKey;

EspKey key_of(uint8_t seed) {
  EspKey key{};
  const std::vector<uint8_t> secret(16, seed), salt(4, seed);
  EXPECT_TRUE(crypto::prepare_gcm(key, secret, salt));
  return key;
}

class Keys : public testing::Test {
 protected:
  Keys() {
    device_.restart();
    table_.add(mirror_);
    mirror_.start();
    bring();
  }
  ~Keys() override { mirror_.stop(); }
  void bring() {
    table_.publish();
    EXPECT_EQ(mirror_.advance(), Status::kOk);
  }
  // As a job reads it now.
  bool on_device(uint32_t index, const EspKey& key) {
    const DeviceTable::Copy copy = mirror_.table().acquire();
    EXPECT_NE(copy.arena, nullptr);
    const size_t held = size_t{copy.words} * 4 / sizeof(EspKey);
    const bool same =
        index < held &&
        std::memcmp(reinterpret_cast<const EspKey*>(copy.arena) + index, &key, sizeof key) == 0;
    mirror_.table().release_arena(copy);
    mirror_.table().release_answers(copy);
    return same;
  }

  HostDevice device_{false};
  KeyTable table_{100};
  TableMirror mirror_{device_, [this] { return table_.image(); }};
};

TEST_F(Keys, ComeToTheDeviceAndLeaveItAsZeros) {
  const EspKey first = key_of(1), second = key_of(2);
  const uint32_t one = table_.add(first), two = table_.add(second);
  bring();
  EXPECT_TRUE(on_device(one, first));
  EXPECT_TRUE(on_device(two, second));
  EXPECT_EQ(table_.count(), 2u);
  table_.remove(one);
  bring();
  EXPECT_TRUE(on_device(one, EspKey{}));
  EXPECT_TRUE(on_device(two, second));
  EXPECT_EQ(table_.count(), 1u);
}

TEST_F(Keys, ATableThatGrowsKeepsThem) {
  std::vector<EspKey> keys;
  for (uint8_t i = 0; i < 100; ++i) {
    keys.push_back(key_of(i));
    EXPECT_EQ(table_.add(keys.back()), i);
    if (i % 30 == 0) bring();
  }
  bring();
  for (uint32_t i = 0; i < 100; ++i) EXPECT_TRUE(on_device(i, keys[i])) << i;
  EXPECT_EQ(table_.add(key_of(200)), KeyTable::kNone) << "as many as there may be";
}

TEST_F(Keys, AnIndexIsGivenAgainOnlyWhenNoCopyHoldsItsKey) {
  for (uint8_t i = 0; i < 100; ++i) table_.add(key_of(i));
  bring();
  table_.remove(7);
  EXPECT_EQ(table_.add(key_of(200)), KeyTable::kNone) << "not published yet";
  const DeviceTable::Copy held = mirror_.table().acquire();  // by a job
  bring();
  EXPECT_EQ(table_.add(key_of(200)), KeyTable::kNone) << "a job may have the old key";
  mirror_.table().release_arena(held);
  mirror_.table().release_answers(held);
  bring();
  EXPECT_EQ(table_.add(key_of(200)), 7u);
  bring();
  EXPECT_TRUE(on_device(7, key_of(200)));
}

TEST_F(Keys, ADeviceThatWasAwayHasThemAllAgain) {
  const uint32_t before = table_.add(key_of(1));
  bring();
  mirror_.stop();
  device_.restart();
  const uint32_t meanwhile = table_.add(key_of(2));
  table_.remove(before);
  table_.publish();
  mirror_.start();
  bring();
  EXPECT_TRUE(on_device(before, EspKey{}));
  EXPECT_TRUE(on_device(meanwhile, key_of(2)));
}

// The image of its start has the key that goes while it is on its way.
TEST(KeysOfADeviceThatLoads, AreNotReplacedBeforeTheirEndHasCome) {
  uint64_t now_ns = 0;
  ScriptedDevice device(now_ns, [](const Job&) { return Script{}; });
  device.update_ns = 1000;
  KeyTable table(1);
  TableMirror mirror(device, [&] { return table.image(); });
  table.add(mirror);
  const uint32_t index = table.add(key_of(1));
  table.publish();
  mirror.start();
  ASSERT_EQ(mirror.advance(), Status::kOk);
  ASSERT_FALSE(mirror.loaded());
  table.remove(index);
  table.publish();
  EXPECT_EQ(table.add(key_of(2)), KeyTable::kNone) << "the first copy will have the old key";
  bool was_read = false;
  for (int i = 0; i < 10 && table.add(key_of(2)) == KeyTable::kNone; ++i) {
    now_ns += 1000;
    ASSERT_EQ(mirror.advance(), Status::kOk);
    was_read |= mirror.loaded();
  }
  EXPECT_TRUE(was_read);
  EXPECT_EQ(table.count(), 1u) << "it was given again";
  mirror.stop();
}

// Without a device nobody holds one.
TEST(KeysOfADeviceThatIsAway, AreReplacedAtOnce) {
  HostDevice device(false);
  KeyTable table(1);
  TableMirror mirror(device, [&] { return table.image(); });
  table.add(mirror);
  table.remove(table.add(key_of(1)));
  table.publish();
  EXPECT_EQ(table.add(key_of(2)), 0u);
}

}  // namespace
}  // namespace hecto::gpu_offload
