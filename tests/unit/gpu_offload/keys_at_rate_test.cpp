// Keys that come and go as fast as control can bring them, beside workers with queues of their own whose
// packets are sealed by them: each with the key of its SA or not at all, also where the device is a
// process that is started again.
#include <array>
#include <atomic>
#include <thread>

#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/open.hpp"
#include "gpu_offload/key_table.hpp"
#include "tests/unit/gpu_offload/fixture.hpp"

namespace hecto::gpu_offload {
namespace {

using crypto::EspKey;
using crypto::EspPacket;
using crypto::EspVerdict;

constexpr unsigned kSas = 12;      // at any time
constexpr unsigned kIndices = 16;  // of the table: each is given again and again
constexpr unsigned kPackets = 8;   // of a batch
constexpr uint32_t kText = 48;     // bytes of a packet
constexpr uint32_t kPacketBytes = kText + 16;
constexpr uint64_t kForever_ns = uint64_t{1} << 60;

using Text = std::array<uint8_t, kPacketBytes>;

// Of an SA by its number, which no other SA ever has.
EspKey key_of(uint64_t number) {
  EspKey key{};
  std::array<uint8_t, 16> secret{};
  std::array<uint8_t, 4> salt{};
  std::memcpy(secret.data(), &number, sizeof number);
  std::memcpy(salt.data(), &number, salt.size());
  EXPECT_TRUE(crypto::prepare_gcm(key, secret, salt));
  return key;
}

// Control's half of an SA as workers see it: its number, and where its key lies.
struct Sa {
  std::atomic<uint64_t> number_and_index{0};
  void set(uint64_t number, uint32_t index) { number_and_index.store(number << 8 | index); }
};

class Worker {
 public:
  Worker(std::unique_ptr<Stage> stage, std::array<Sa, kSas>& sas)
      : stage_(std::move(stage)),
        sas_(sas),
        sent_(stage_->options().slots + stage_->options().spares) {}

  Stage& stage() { return *stage_; }
  // What a turn sends is on its way when the turn is counted.
  uint64_t turns() const { return turns_.load(); }
  bool has_enough(uint64_t numbers) const { return numbers_.load() >= numbers; }
  uint64_t sealed() const { return sealed_; }
  uint64_t without_key() const { return without_key_; }
  uint64_t wrong() const { return wrong_; }

  void turn() {
    if (Slot* slot = stage_->room(Side::kDevice, 0, kPackets, kPackets * kPacketBytes, steady_ns()))
      gather(*slot);
    stage_->close(steady_ns());
    poll();
  }
  void poll() {
    turns_.fetch_add(1);
    stage_->poll(steady_ns(), [this](Slot& slot, Outcome outcome) noexcept {
      if (outcome == Outcome::kShaded) compare(slot);
    });
  }

 private:
  struct Sent {
    uint64_t number;
    EspPacket packet;
  };

  void gather(Slot& slot) {
    std::array<Sent, kPackets>& sent = sent_[slot.index];
    for (unsigned i = 0; i < kPackets; ++i) {
      const uint64_t seen = sas_[next_++ % kSas].number_and_index.load();
      EspPacket packet{};
      packet.key = static_cast<uint32_t>(seen & 0xff);
      packet.payload = i * kPacketBytes;
      packet.length = packet.icv = kText;
      packet.aad_length = 8;
      std::memcpy(packet.iv, &next_, sizeof next_);
      std::memset(slot.payload + packet.payload, static_cast<int>(next_ & 0xff), kPacketBytes);
      std::memcpy(slot.input + i * sizeof packet, &packet, sizeof packet);
      sent[i] = {seen >> 8, packet};
    }
    slot.add(kPackets, kPackets * kPacketBytes);
  }
  // What the CPU makes of it by the SA's own key.
  Text expected(const Sent& sent, const Slot& slot) const {
    Text text;
    std::memcpy(text.data(), slot.payload + sent.packet.payload, text.size());
    EspPacket packet = sent.packet;
    packet.payload = packet.key = 0;
    const EspKey key = key_of(sent.number);
    EspVerdict verdict{};
    const crypto::EspJob job{crypto::EspKind::kSealGcm,
                             1,
                             1,
                             kPacketBytes,
                             kPacketBytes,
                             text.data(),
                             &packet,
                             &key,
                             &verdict};
    EXPECT_EQ(crypto::launch_esp_host(nullptr, job), 0);
    EXPECT_EQ(verdict, EspVerdict::kDone);
    return text;
  }
  void compare(const Slot& slot) {
    for (unsigned i = 0; i < kPackets; ++i) {
      const Sent& sent = sent_[slot.index][i];
      const auto verdict = static_cast<EspVerdict>(slot.output[i]);
      if (verdict == EspVerdict::kUnservable) {
        ++without_key_;
        continue;
      }
      const Text text = expected(sent, slot);
      wrong_ += verdict != EspVerdict::kDone ||
                std::memcmp(text.data(), slot.result + sent.packet.payload, text.size()) != 0;
      ++sealed_;
      if (sent.number > newest_) numbers_.fetch_add(1);
      newest_ = std::max(newest_, sent.number);
    }
  }

  std::unique_ptr<Stage> stage_;
  std::array<Sa, kSas>& sas_;
  std::vector<std::array<Sent, kPackets>> sent_;  // by slot
  uint64_t next_ = 0, newest_ = 0;
  uint64_t sealed_ = 0, without_key_ = 0, wrong_ = 0;
  std::atomic<uint64_t> turns_{0}, numbers_{0};
};

// Control: SAs that are replaced over and over, their keys forgotten when all workers have had a turn.
class Rekeying {
 public:
  Rekeying(KeyTable& table, std::array<Sa, kSas>& sas, std::deque<Worker>& workers)
      : table_(table), sas_(sas), workers_(workers) {
    for (unsigned i = 0; i < kSas; ++i) replace();
  }
  void turn() {
    replace();
    while (!leaving_.empty() && has_passed(leaving_.front().turns)) {
      table_.remove(leaving_.front().index);
      leaving_.pop_front();
    }
    table_.publish();
  }
  uint64_t replaced() const { return number_; }

 private:
  struct Leaving {
    uint32_t index;
    std::vector<uint64_t> turns;  // by worker: the one after it knows nothing of the SA
  };

  // Where an index is free.
  void replace() {
    const uint32_t index = table_.add(key_of(number_ + 1));
    if (index == KeyTable::kNone) return;
    const unsigned which = number_++ % kSas;
    const uint64_t before = sas_[which].number_and_index.load();
    sas_[which].set(number_, index);
    if (before == 0) return;
    Leaving& leaving = leaving_.emplace_back();
    leaving.index = static_cast<uint32_t>(before & 0xff);
    for (const Worker& worker : workers_) leaving.turns.push_back(worker.turns());
  }
  bool has_passed(const std::vector<uint64_t>& turns) const {
    for (size_t i = 0; i < turns.size(); ++i)
      if (workers_[i].turns() == turns[i]) return false;
    return true;
  }

  KeyTable& table_;
  std::array<Sa, kSas>& sas_;
  std::deque<Worker>& workers_;
  std::deque<Leaving> leaving_;
  uint64_t number_ = 0;
};

// Each worker sees so many SAs of which none was there before; the device is retired meanwhile, `restarts`
// times.
void rekey(std::unique_ptr<Device> device, unsigned count, uint64_t numbers, unsigned restarts) {
  DeviceControl control(std::move(device));
  KeyTable table(kIndices);
  TableMirror& mirror = control.add_table([&] { return table.image(); });
  table.add(mirror);
  StageOptions options;
  options.kind = JobKind::kSealGcm;
  options.items = kPackets;
  options.payload_bytes = kPackets * kPacketBytes;
  options.deadline_ns = kForever_ns;
  std::array<Sa, kSas> sas;
  std::deque<Worker> workers;
  for (unsigned i = 0; i < count; ++i) {
    auto stage = std::make_unique<Stage>(
        options, control.device(), control.health(), StageTables{&mirror.table(), &mirror.table()},
        control.device().make_queue(options.slots + options.spares), lookup::Memory::system());
    control.add_user(stage->holds());
    workers.emplace_back(std::move(stage), sas);
  }
  Rekeying rekeying(table, sas, workers);
  uint64_t now_ns = 0;
  while (control.phase() != DeviceControl::Phase::kReady) control.tick(++now_ns);
  std::atomic<unsigned> running{count};
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&] {
      while (!worker.has_enough(numbers)) {
        worker.turn();
        std::this_thread::yield();
      }
      while (!worker.stage().idle()) worker.poll();
      --running;
      while (running != 0) worker.poll();  // a device is started again when no stage holds it
    });
  }
  uint64_t next_restart = rekeying.replaced() + 50;
  while (running != 0) {
    rekeying.turn();
    if (restarts != 0 && rekeying.replaced() >= next_restart) {
      --restarts;
      next_restart += 50;
      control.health().retire(Cause::kBroken);
    }
    now_ns += control.phase() == DeviceControl::Phase::kStopped ? 4 * kSecond : 100 * kUs;
    control.tick(now_ns);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(restarts, 0u);
  for (const Worker& worker : workers) {
    EXPECT_EQ(worker.wrong(), 0u) << "of " << worker.sealed() << " packets, "
                                  << worker.without_key() << " without a key";
    EXPECT_GE(worker.sealed(), numbers);
  }
  table.remove(mirror);
}

TEST(KeysAtRate, SealNothingByAnothersKey) {
  rekey(std::make_unique<HostDevice>(), 8, 150, 0);
}

TEST(KeysAtRate, SealNothingByAnothersKeyInAHelperThatIsStartedAgain) {
  auto device = open_device("host");
  ASSERT_TRUE(device) << device.error();
  rekey(std::move(*device), 8, 150, 2);
}

}  // namespace
}  // namespace hecto::gpu_offload
