// ESP through a stage and a device, against OpenSSL: whatever becomes of a job, every packet comes
// out once, in order, sealed or opened as OpenSSL does it, and a forged one is told.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/device_control.hpp"
#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/scripted.hpp"
#include "gpu_offload/esp_job.hpp"
#include "gpu_offload/stage.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/gpu_offload/crypto_batch.hpp"

namespace hecto::gpu_offload {
namespace {

using crypto::Batch;
using crypto::Bytes;
using crypto::EspPacket;
using crypto::EspVerdict;

constexpr uint64_t kForever_ns = uint64_t{1} << 60;
uint64_t scripted_ns = 0;

struct DeviceChoice {
  const char* name;
  std::unique_ptr<Device> (*make)();
  bool shades;  // answers are the device's, else all is done again on the CPU
};

std::unique_ptr<Device> scripted(Answer answer) {
  return std::make_unique<ScriptedDevice>(scripted_ns,
                                          [=](const Job&) { return Script{.answer = answer}; });
}
constexpr DeviceChoice kDevices[] = {
    {"inline", [] { return std::unique_ptr<Device>(new HostDevice(false)); }, true},
    {"host", [] { return std::unique_ptr<Device>(new HostDevice(true)); }, true},
    {"nothing", [] { return scripted(Answer::kNothing); }, false},
    {"error", [] { return scripted(Answer::kError); }, false}};

std::shared_ptr<const lookup::TableUpdate> image_of(const std::vector<crypto::EspKey>& keys) {
  auto update = std::make_shared<lookup::TableUpdate>();
  update->generation = 1;
  update->words = keys.size() * sizeof(crypto::EspKey) / 4;
  update->image.resize(update->words);
  std::memcpy(update->image.data(), keys.data(), update->words * 4);
  return update;
}

class EspStage : public testing::TestWithParam<DeviceChoice> {
 protected:
  // All packets of the batch, their payloads from `from`; results and verdicts in their order.
  void run(Batch& batch, JobKind kind, const Bytes& from) {
    batch_ = &batch;
    keys_ = image_of(batch.keys);
    results_.clear();
    verdicts_.clear();
    DeviceControl control(GetParam().make());
    TableMirror& keys = control.add_table([this] { return keys_; });
    StageOptions options;
    options.kind = kind;
    options.items = 16;
    options.payload_bytes = 32 * 1024;
    options.close_ns = options.deadline_ns = kForever_ns;
    Stage stage(options, control.device(), control.health(), {&keys.table(), &keys.table()},
                control.device().make_queue(options.slots + options.spares),
                lookup::Memory::system());
    control.add_user(stage.holds());
    while (control.phase() != DeviceControl::Phase::kReady) control.tick(0);
    poll(stage);
    for (const EspPacket& packet : batch.packets) gather(stage, packet, from);
    stage.close(0);
    while (!stage.empty()) poll(stage);
    EXPECT_EQ(verdicts_.size(), batch.packets.size());
    EXPECT_EQ(stage.counters().completed.get() > 0, GetParam().shades);
  }
  const Bytes& result(size_t packet) const { return results_[packet]; }
  EspVerdict verdict(size_t packet) const { return verdicts_[packet]; }
  uint32_t bytes_of(const EspPacket& packet) const {
    return packet.icv + batch_->keys[packet.key].icv_bytes;
  }

 private:
  void gather(Stage& stage, EspPacket packet, const Bytes& from) {
    const uint32_t bytes = bytes_of(packet);
    Slot* slot = nullptr;
    while ((slot = stage.room(Side::kDevice, 0, 1, bytes, 0)) == nullptr) poll(stage);
    std::memcpy(slot->payload + slot->payload_used, &from[packet.payload], bytes);
    packet.payload = slot->payload_used;
    std::memcpy(slot->input + slot->count * sizeof packet, &packet, sizeof packet);
    slot->add(1, bytes);
  }
  void poll(Stage& stage) {
    stage.poll(0, [&](Slot& slot, Outcome outcome) noexcept {
      if (outcome == Outcome::kRedo) redo(stage.options().kind, slot);
      EXPECT_EQ(outcome == Outcome::kShaded, GetParam().shades);
      const auto* packets = reinterpret_cast<const EspPacket*>(slot.input);
      for (uint32_t i = 0; i < slot.count; ++i) {
        verdicts_.push_back(static_cast<EspVerdict>(slot.output[i]));
        const auto* start = reinterpret_cast<uint8_t*>(slot.result) + packets[i].payload;
        results_.emplace_back(start, start + bytes_of(packets[i]));
      }
    });
  }
  // From the same input and payload, whatever the device has written to its own.
  void redo(JobKind kind, Slot& slot) {
    std::memcpy(slot.result, slot.payload, slot.payload_used);
    const Job job{kind,
                  0,
                  0,
                  slot.count,
                  slot.payload_used,
                  static_cast<uint32_t>(keys_->words),
                  keys_->image.data(),
                  slot.input,
                  slot.output,
                  slot.payload,
                  slot.result,
                  0};
    EXPECT_EQ(crypto::launch_esp_host(nullptr, esp_job(job)), 0);
  }

  Batch* batch_ = nullptr;
  std::shared_ptr<const lookup::TableUpdate> keys_;
  std::vector<Bytes> results_;
  std::vector<EspVerdict> verdicts_;
};

Batch batch_of(std::mt19937_64& random, bool gcm) {
  return crypto::random_batch(random, gcm, crypto::lengths_up_to(1456, gcm ? 7 : 16));
}
Bytes part(const Bytes& from, const EspPacket& packet, uint32_t first, uint32_t last) {
  const auto start = from.begin() + static_cast<std::ptrdiff_t>(packet.payload);
  return {start + first, start + last};
}

TEST_P(EspStage, SealsAsOpenSsl) {
  std::mt19937_64 random(test_seed());
  for (const bool gcm : {true, false}) {
    Batch batch = batch_of(random, gcm);
    run(batch, gcm ? JobKind::kSealGcm : JobKind::kSealCbc, batch.plain);
    for (size_t i = 0; i < batch.packets.size(); ++i) {
      const EspPacket& packet = batch.packets[i];
      ASSERT_EQ(verdict(i), EspVerdict::kDone) << "packet " << i;
      ASSERT_EQ(result(i), part(batch.sealed, packet, 0, bytes_of(packet))) << "packet " << i;
    }
  }
}

TEST_P(EspStage, OpensWhatOpenSslHasSealedAndTellsForgeries) {
  std::mt19937_64 random(test_seed());
  for (const bool gcm : {true, false}) {
    Batch batch = batch_of(random, gcm);
    Bytes came = batch.sealed;
    for (size_t i = 0; i < batch.packets.size(); i += 5) {  // payload, ICV, AAD and IV in turn
      EspPacket& packet = batch.packets[i];
      const auto bit = static_cast<uint8_t>(1 << random() % 8);
      if (i % 4 == 0 && packet.length != 0)
        came[packet.payload + random() % packet.length] ^= bit;
      else if (i % 4 <= 1)
        came[packet.payload + packet.icv + random() % 12] ^= bit;
      else
        (i % 4 == 2 ? packet.aad : packet.iv)[random() % 8] ^= bit;
    }
    run(batch, gcm ? JobKind::kOpenGcm : JobKind::kOpenCbc, came);
    for (size_t i = 0; i < batch.packets.size(); ++i) {
      const EspPacket& packet = batch.packets[i];
      const bool forged = i % 5 == 0;
      ASSERT_EQ(verdict(i), forged ? EspVerdict::kForged : EspVerdict::kDone) << "packet " << i;
      Bytes expected = part(came, packet, 0, bytes_of(packet));  // a forged one as it came
      const Bytes plain = part(batch.plain, packet, 0, packet.length);
      if (!forged) std::copy(plain.begin(), plain.end(), expected.begin());
      ASSERT_EQ(result(i), expected) << "packet " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, EspStage, testing::ValuesIn(kDevices),
                         [](const auto& which) { return std::string(which.param.name); });

}  // namespace
}  // namespace hecto::gpu_offload
