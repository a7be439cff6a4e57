// Keys: what fits, where they lie, and that they go.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/secret_memory.hpp"
#include "tests/unit/router/ipsec/esp/esp_bed.hpp"

namespace hecto::router::esp {
namespace {

class EspKeys : public EspTest {};

// The flags that /proc/self/smaps shows for the mapping that `address` lies in.
std::string vm_flags(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-')
      inside = begin <= wanted && wanted < end;
    if (inside && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

// This process's writable memory: without its stack, and without what is kept out of dumps.
std::vector<std::pair<uintptr_t, uintptr_t>> ordinary_memory() {
  std::vector<std::pair<uintptr_t, uintptr_t>> all;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::pair<uintptr_t, uintptr_t> range;
    char dash = 0;
    std::string rights;
    std::istringstream words(line);
    if (!(words >> std::hex >> range.first >> dash >> range.second >> rights)) continue;
    if (rights != "rw-p" || line.ends_with("[stack]")) continue;
    if (vm_flags(reinterpret_cast<void*>(range.first)).find(" dd ") == std::string::npos)
      all.push_back(range);
  }
  return all;
}

constexpr uint8_t kMask = 0x5a;  // a needle is no key: it would be found itself
constexpr size_t kNeedleBytes = 16;
using Needle = std::array<uint8_t, kNeedleBytes>;

Needle needle(const uint8_t* key) {
  Needle masked;
  for (size_t i = 0; i < masked.size(); ++i) masked[i] = key[i] ^ kMask;
  return masked;
}

// How many of them lie in ordinary memory, mask and all.
size_t found(const std::vector<Needle>& needles) {
  static std::array<uint8_t, 1 << 16> chunk;
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  size_t count = 0;
  for (auto [at, end] : ordinary_memory()) {
    for (; at + kNeedleBytes <= end; at += chunk.size() - kNeedleBytes) {
      const size_t wanted = std::min<size_t>(chunk.size(), end - at);
      const ssize_t bytes = pread(memory, chunk.data(), wanted, static_cast<off_t>(at));
      if (bytes <= 0) break;
      for (ssize_t i = 0; i < bytes; ++i) chunk[static_cast<size_t>(i)] ^= kMask;
      for (const Needle& each : needles)
        count +=
            memmem(chunk.data(), static_cast<size_t>(bytes), each.data(), each.size()) != nullptr;
    }
  }
  close(memory);
  return count;
}

// A sanitizer keeps stacks and freed memory of its own, and is slow to search.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST_P(EspKeys, NoneIsLeftInOrdinaryMemoryBehindABatch) {
  if (kSanitized) GTEST_SKIP() << "with a sanitizer";
  random.seed(random() ^
              0x6b657973);  // other tests have put the numbers of the same seed into packets
  std::vector<Needle> needles;
  std::vector<std::unique_ptr<Sa>> sas;
  for (const Transform& transform : all_transforms()) {
    const SaState state = sa_state(transform, random);
    if (transform.key_bytes != 0) needles.push_back(needle(state.keys.cipher.data()));
    if (!transform.aead()) needles.push_back(needle(state.keys.integrity.data()));
    sas.push_back(sa(state));
  }
  for (const auto& one : sas) in(*one, out(*one, ip_packet(random, Family::kIpv4, 100)));
  EXPECT_EQ(found(needles), 0U);
  const Bytes there = random_bytes(random, 1000);
  EXPECT_GE(found({needle(there.data() + 500)}), 1U);  // that it finds what is there
}

TEST_P(EspKeys, SasLieOutsideOfCoreDumps) {
  for (const char* aead : {"aes-256-gcm", "chacha20-poly1305"}) {
    const auto one = sa(sa_state(transform_by_name(aead, "").value(), random));
    ASSERT_NE(vm_flags(one.get()).find(" dd "), std::string::npos);
    ASSERT_NE(vm_flags(one->keys()).find(" dd "), std::string::npos);
  }
}

// 10,000 tunnels: their SAs, and what workers use for each packet, are a few entries of the TLB.
TEST_P(EspKeys, LieOnHugePages) {
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
    GTEST_SKIP() << "this kernel has no transparent huge pages";
  const auto one = sa(sa_state(transform_by_name("aes-256-gcm", "").value(), random));
  EXPECT_NE(vm_flags(one.get()).find(" hg "), std::string::npos);
  constexpr size_t kManager = 200'744;  // ipsec-mb 1.3's
  void* manager = allocate_secret(kManager);
  EXPECT_NE(vm_flags(manager).find(" hg "), std::string::npos);
  release_secret(manager, kManager);
}

TEST_P(EspKeys, AreWipedWhenAnSaDies) {
  for (const Transform& transform : all_transforms()) {
    auto one = sa(sa_state(transform, random));
    const auto* memory = reinterpret_cast<const volatile uint8_t*>(one.get());
    one.reset();
    // The memory stays mapped; its first bytes hold the list of free blocks.
    for (size_t i = sizeof(void*); i < sizeof(Sa); ++i) ASSERT_EQ(memory[i], 0) << i;
  }
}

TEST_P(EspKeys, MemoryIsReusedZeroed) {
  void* first = allocate_secret(100);
  memset(first, 0xaa, 100);
  release_secret(first, 100);
  auto* second = static_cast<uint8_t*>(allocate_secret(128));  // one size class
  EXPECT_EQ(first, second);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(second[i], 0);
  release_secret(second, 128);
}

TEST_P(EspKeys, WipeAndMoveLeaveNothing) {
  SaState state = sa_state(transform_by_name("aes-256-cbc", "hmac-sha2-512").value(), random);
  const Keys before = state.keys;
  Keys moved = std::move(state.keys);
  EXPECT_EQ(moved, before);
  EXPECT_EQ(state.keys, Keys());
  Keys assigned;
  assigned = std::move(moved);
  EXPECT_EQ(assigned, before);
  EXPECT_EQ(moved, Keys());
  assigned.wipe();
  EXPECT_EQ(assigned, Keys());
}

TEST_P(EspKeys, NamesGoThereAndBack) {
  for (const Transform& transform : all_transforms()) {
    const std::string name = to_string(transform);
    const size_t plus = name.find(" + ");
    const auto again = transform_by_name(name.substr(0, plus),
                                         plus == std::string::npos ? "" : name.substr(plus + 3));
    ASSERT_TRUE(again) << name;
    EXPECT_EQ(*again, transform);
  }
  EXPECT_FALSE(transform_by_name("des", "hmac-sha1"));
  EXPECT_FALSE(transform_by_name("aes-128-cbc", ""));
  EXPECT_FALSE(transform_by_name("aes-128-cbc", "hmac-md5"));
  EXPECT_FALSE(transform_by_name("aes-128-gcm", "hmac-sha1"));
}

TEST_P(EspKeys, WrongLengthsAndEndsAreRefused) {
  const SaState good = sa_state(transform_by_name("aes-128-cbc", "hmac-sha1").value(), random);
  const auto refused = [&](auto change) {
    SaState state = good;
    change(state);
    const auto made = Sa::create(state, GetParam());
    EXPECT_FALSE(made);
    if (made) return std::string();
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
    return made.error().message;
  };
  EXPECT_EQ(refused([](SaState& state) { state.keys.cipher_bytes = 24; }),
            "SA 192.0.2.2 0xc0ffee01: the key of aes-128-cbc has 16 bytes, 0 of them salt; 24 were "
            "given");
  refused([](SaState& state) { state.keys.integrity_bytes = 0; });
  refused([](SaState& state) { state.transform.icv_bytes = 20; });
  refused([](SaState& state) { state.transform.key_bytes = 20; });
  refused([](SaState& state) { state.transform.integrity = Integrity::kNone; });
  refused([](SaState& state) { state.transform.cipher = Cipher::kAesGcm; });
  refused([](SaState& state) { state.id.spi = 0; });
  refused([](SaState& state) { state.source = *IpAddress::parse("2001:db8::1"); });
  refused([](SaState& state) { state.replay_window = 4097; });
  refused([](SaState& state) { state.tfc_pad = 70000; });
}

INSTANTIATE_TEST_SUITE_P(, EspKeys, testing::ValuesIn(libraries()), library_name);

}  // namespace
}  // namespace hecto::router::esp
