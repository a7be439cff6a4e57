// What every device must do, on those at hand: the host one, the same behind a plug-in, and a GPU
// where there is one.
#include "gpu_offload/device.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "gpu_offload/crypto/esp.hpp"
#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/open.hpp"
#include "gpu_offload/devices/plugin.hpp"
#include "gpu_offload/kernels.hpp"
#include "lookup/memory_block.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::gpu_offload {
namespace {

using namespace lookup;

constexpr size_t kHalfBytes = 1 << 20;  // of the memory that jobs lie in: what goes, what comes

std::unique_ptr<Device> make_device(const std::string& which) {
  if (which == "host") return std::make_unique<HostDevice>();
  if (which == "helper") return open_device("host").value();
  if (which == "inline") return std::make_unique<HostDevice>(false);
  const char* path = which == "plugin" ? HECTO_HOST_PLUGIN : HECTO_CUDA_PLUGIN;
  auto plugin = Plugin::load(path);
  if (!plugin || !plugin->count()) return nullptr;
  return plugin->open(0, which + ":0").value();
}

class DeviceTest : public ::testing::TestWithParam<const char*> {
 protected:
  DeviceTest() : device(make_device(GetParam())) {
    if (device == nullptr) return;
    if (device->memory() != nullptr) memory = MemoryBlock(*device->memory(), 2 * kHalfBytes, 0);
    queue = device->make_queue(4);
    EXPECT_EQ(device->pin(start(), 2 * kHalfBytes), Status::kOk);
    restart();
  }
  ~DeviceTest() override {
    if (device != nullptr) device->unpin(start());
  }
  void SetUp() override {
    if (device == nullptr) GTEST_SKIP() << "no such device here";
  }
  char* start() { return memory.as<char>(); }
  char* output() { return start() + kHalfBytes; }

  void restart() {
    Status status = device->restart();
    while (status == Status::kBusy) {
      std::this_thread::yield();
      status = device->state();
    }
    ASSERT_EQ(status, Status::kOk) << device->trouble();
  }
  uint32_t* copy_of(const TableUpdate& update) {
    uint32_t* arena = device->create_arena(update.words);
    EXPECT_NE(arena, nullptr);
    apply(arena, update);
    return arena;
  }
  void apply(uint32_t* arena, const TableUpdate& update) {
    ASSERT_EQ(device->start_update(arena, update), Status::kOk);
    Status status = Status::kBusy;
    while ((status = device->update_status()) == Status::kBusy) std::this_thread::yield();
    ASSERT_EQ(status, Status::kOk);
  }
  void run(std::span<const Job> jobs) {
    std::memset(output(), 0xff, kHalfBytes);
    ASSERT_EQ(queue->submit(jobs), Status::kOk);
    Completion completions[kMostJobs];
    for (size_t done = 0; done < jobs.size();) {
      const unsigned n = queue->poll(completions);
      for (unsigned i = 0; i < n; ++i) {
        EXPECT_TRUE(completions[i].ok);
        EXPECT_EQ(completions[i].count, jobs[completions[i].id].count);
      }
      done += n;
      if (n == 0) std::this_thread::yield();
    }
  }

  // Batches of one and of many jobs, small and large ones, against the table itself.
  template <typename Kind>
  void look_up(const TestTable<Kind>& table, const uint32_t* arena,
               RandomTable<typename Kind::Address>& random) {
    using Address = typename Kind::Address;
    for (uint32_t count : {1u, 3u, 257u, 2000u, 20000u}) {
      std::vector<Job> jobs(count < 1000 ? 5 : 1);
      std::vector<std::vector<Address>> destinations(jobs.size());
      size_t in = 0;
      size_t out = 0;
      for (size_t i = 0; i < jobs.size(); ++i) {
        destinations[i].resize(count + i);
        for (Address& to : destinations[i]) to = random.destination();
        const size_t bytes = destinations[i].size() * sizeof(Address);
        std::memcpy(start() + in, destinations[i].data(), bytes);
        jobs[i] = {Kind::kIsIpv4 ? JobKind::kLookup4 : JobKind::kLookup6,
                   0,
                   Kind::kTable,
                   static_cast<uint32_t>(count + i),
                   0,
                   *table.arena(),
                   arena,
                   start() + in,
                   output() + out,
                   nullptr,
                   nullptr,
                   i};
        in += (bytes + 255) / 256 * 256;
        out += (2 * (count + i) + 255) / 256 * 256;
      }
      run(jobs);
      for (size_t i = 0; i < jobs.size(); ++i) {
        std::vector<GroupId> groups(count + i + 1);
        std::memcpy(groups.data(), jobs[i].output, 2 * groups.size());
        ASSERT_EQ(groups.back(), 0xffff) << "wrote behind its answers";
        groups.pop_back();
        ASSERT_EQ(groups, table.lookup(destinations[i])) << count;
      }
    }
  }
  template <typename Kind>
  void look_up_in() {
    RandomTable<typename Kind::Address> random(test_seed());
    std::vector<std::shared_ptr<const TableUpdate>> updates;
    Journal journal([&](auto update) { updates.push_back(std::move(update)); });
    TestTable<Kind> table;
    table.fib().attach(&journal, Kind::kTable);
    auto change = [&] {
      for (int i = 0; i < 300; ++i) {
        auto prefix = random.prefix();
        if (prefix.length < 16) prefix = Kind::PrefixType::make(prefix.address, 16);
        (void)table.add(prefix, static_cast<GroupId>(random.rng()() % 0x8000));
      }
      table.publish();
    };
    change();
    uint32_t* arena = copy_of(*table.fib().image(Kind::kTable));
    look_up(table, arena, random);
    change();
    if (updates.back()->image.empty()) {
      apply(arena, *updates.back());
      look_up(table, arena, random);
    }
    device->release_arena(arena);
    table.fib().attach(nullptr, Kind::kTable);
  }

  std::unique_ptr<Device> device;
  MemoryBlock memory{Memory::system(), 2 * kHalfBytes, 0};
  std::unique_ptr<JobQueue> queue;
};

TEST_P(DeviceTest, LooksUpInDirectTables) {
  look_up_in<DirectTable4>();
}
TEST_P(DeviceTest, LooksUpInIpv4Tries) {
  look_up_in<TrieTable4>();
  look_up_in<VrfTable4>();
}
TEST_P(DeviceTest, LooksUpInIpv6Tries) {
  look_up_in<MainTable6>();
  look_up_in<VrfTable6>();
}

// Sealed by the device, opened by it again; and both as the CPU does it.
TEST_P(DeviceTest, SealsAndOpensPackets) {
  constexpr uint32_t kPackets = 50;
  constexpr uint32_t kPayload = 512;
  constexpr uint32_t kPayloads = kPackets * kPayload;
  TableUpdate keys;
  keys.image.resize(sizeof(crypto::EspKey) / 4);
  keys.words = keys.image.size();
  crypto::EspKey key;
  const std::vector<uint8_t> bytes(20, 7);
  ASSERT_TRUE(crypto::prepare_gcm(key, std::span(bytes).first(16), std::span(bytes).first(4)));
  std::memcpy(keys.image.data(), &key, sizeof(key));
  uint32_t* arena = copy_of(keys);

  auto* packets = reinterpret_cast<crypto::EspPacket*>(start());
  auto* payload = reinterpret_cast<uint8_t*>(start() + 64 * 1024);
  for (uint32_t i = 0; i < kPackets; ++i) {
    packets[i] = {};
    packets[i].iv[0] = static_cast<uint8_t>(i);
    packets[i].payload = i * kPayload;
    packets[i].length = packets[i].icv = static_cast<uint16_t>(100 + i);
    packets[i].aad_length = 8;
  }
  for (uint32_t i = 0; i < kPayloads; ++i) payload[i] = static_cast<uint8_t>(i * 31);
  std::vector<uint8_t> plain(payload, payload + kPayloads);
  Job job{JobKind::kSealGcm,
          0,
          0,
          kPackets,
          kPayloads,
          static_cast<uint32_t>(keys.words),
          arena,
          packets,
          output(),
          payload,
          output() + 64 * 1024,
          0};
  run({&job, 1});
  std::vector<uint8_t> expected(kPayloads);
  std::vector<uint8_t> verdicts(kPackets);
  Job on_cpu = job;
  on_cpu.arena = keys.image.data();
  on_cpu.output = verdicts.data();
  on_cpu.result = expected.data();
  ASSERT_TRUE(run_on_cpu(on_cpu));
  EXPECT_EQ(0, std::memcmp(job.output, verdicts.data(), kPackets));
  EXPECT_EQ(0, std::memcmp(job.result, expected.data(), kPayloads));
  EXPECT_NE(expected, plain);

  std::memcpy(payload, expected.data(), kPayloads);
  payload[3 * kPayload] ^= 1;
  job.kind = JobKind::kOpenGcm;
  run({&job, 1});
  auto* answers = static_cast<const crypto::EspVerdict*>(job.output);
  for (uint32_t i = 0; i < kPackets; ++i) {
    ASSERT_EQ(answers[i], i == 3 ? crypto::EspVerdict::kForged : crypto::EspVerdict::kDone) << i;
    if (i == 3) continue;
    ASSERT_EQ(0, std::memcmp(static_cast<uint8_t*>(job.result) + i * kPayload,
                             plain.data() + i * kPayload, packets[i].length));
  }
  device->release_arena(arena);
}

TEST_P(DeviceTest, StartsAnew) {
  TestTable<TrieTable4> table;
  (void)table.add(TrieTable4::numbered(8, 0), 7);
  RandomTable<Ipv4Address> random(test_seed());
  for (int i = 0; i < 2; ++i) {
    uint32_t* arena = copy_of(*table.fib().image());
    look_up(table, arena, random);
    restart();
  }
}

TEST_P(DeviceTest, TakesNoMoreBatchesThanItsQueueHas) {
  Job job{};
  job.kind = JobKind::kLookup4;
  job.input = start();
  job.output = output();
  Status status = Status::kOk;
  for (int i = 0; i < 200 && status == Status::kOk; ++i) status = queue->submit({&job, 1});
  EXPECT_EQ(status, Status::kBusy);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceTest,
                         ::testing::Values("inline", "host", "helper", "plugin", "cuda"),
                         [](const auto& which) { return std::string(which.param); });

TEST(Plugin, RefusesWhatIsNoneAndWhatIsOfAnotherVersion) {
  auto missing = Plugin::load("/nonexistent/libhecto_cuda.so");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().find("/nonexistent/libhecto_cuda.so"), std::string::npos);
  auto other = Plugin::load("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(), "libc.so.6: not a device plug-in of hecto");
  setenv("HECTO_TEST_OTHER_ABI", "1", 1);
  auto newer = Plugin::load(HECTO_HOST_PLUGIN);
  unsetenv("HECTO_TEST_OTHER_ABI");
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().find("another version"), std::string::npos);
  EXPECT_FALSE(Plugin::load(HECTO_HOST_PLUGIN).value().open(1, "host:1"));
}

TEST(OpenDevice, SaysWhereThereIsNoHelper) {
  setenv("HECTO_GPU_HELPER", "/nonexistent/hecto-gpu", 1);
  setenv("HECTO_CUDA_PLUGIN", HECTO_HOST_PLUGIN, 1);
  auto device = open_device("cuda:0");
  unsetenv("HECTO_CUDA_PLUGIN");
  unsetenv("HECTO_GPU_HELPER");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error(), "cuda:0: there is no helper at /nonexistent/hecto-gpu");
}

// As on every machine without a GPU, where `auto` asks for one at each start.
TEST(OpenDevice, StartsNoHelperWhereThereIsNoPlugin) {
  setenv("HECTO_GPU_HELPER", "/nonexistent/hecto-gpu", 1);
  setenv("HECTO_CUDA_PLUGIN", "/nonexistent/libhecto_cuda.so", 1);
  auto device = open_device("cuda:0");
  unsetenv("HECTO_CUDA_PLUGIN");
  unsetenv("HECTO_GPU_HELPER");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error(), "cuda:0: there is no CUDA plug-in at /nonexistent/libhecto_cuda.so");
}

TEST(OpenDevice, KnowsNamesAndSaysWhatIsWrong) {
  EXPECT_EQ(open_device("host").value()->name(), "host");
  for (const char* wrong : {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:0x", "cuda:-1"}) {
    auto device = open_device(wrong);
    ASSERT_FALSE(device) << wrong;
    EXPECT_EQ(device.error(), std::string(wrong) + ": no such device; known are host and cuda:N");
  }
  setenv("HECTO_CUDA_PLUGIN", HECTO_HOST_PLUGIN, 1);
  EXPECT_EQ(open_device("cuda:0").value()->description(), "the host, behind a plug-in");
  EXPECT_EQ(open_device("cuda:7").error(), "cuda:7: there are 1 CUDA devices, from 0");
  unsetenv("HECTO_CUDA_PLUGIN");
}

TEST(OpenDevice, CudaSaysWhyThereIsNoDevice) {
  if (*HECTO_CUDA_PLUGIN == 0) GTEST_SKIP() << "built without nvcc";
  auto plugin = Plugin::load(HECTO_CUDA_PLUGIN);
  ASSERT_TRUE(plugin) << plugin.error();
  if (auto count = plugin->count()) GTEST_SKIP() << "there are " << *count;
  setenv("HECTO_CUDA_PLUGIN", HECTO_CUDA_PLUGIN, 1);
  auto device = open_device("cuda:0");
  unsetenv("HECTO_CUDA_PLUGIN");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().find("cuda:0: no CUDA device: "), 0u) << device.error();
  EXPECT_FALSE(plugin->open(0, "cuda:0"));
}

}  // namespace
}  // namespace hecto::gpu_offload
