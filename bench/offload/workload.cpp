#include "bench/offload/workload.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/esp_job.hpp"

namespace hecto::bench {
namespace {

using gpu_offload::Job;
using gpu_offload::JobKind;
namespace crypto = gpu_offload::crypto;

constexpr unsigned kSas = 64;
constexpr uint32_t kCpuBatch = 256;  // what a worker looks up at once
constexpr int kPoison = 0xff;        // no group id, no verdict

void fill(void* start, size_t bytes, std::mt19937_64& random) {
  auto* to = static_cast<char*>(start);
  for (size_t at = 0; at < bytes; at += 8) {
    const uint64_t word = random();
    std::memcpy(to + at, &word, std::min<size_t>(8, bytes - at));
  }
}

bool prepare(crypto::EspKey& key, crypto::EspTransform transform, std::mt19937_64& random) {
  uint8_t cipher[16], salt[4], mac[32];
  fill(cipher, sizeof cipher, random);
  fill(salt, sizeof salt, random);
  fill(mac, sizeof mac, random);
  switch (transform) {
    case crypto::EspTransform::kGcm:
      return prepare_gcm(key, cipher, salt);
    case crypto::EspTransform::kCbcSha1:
      return prepare_cbc_sha1(key, cipher, std::span(mac).first(20));
    case crypto::EspTransform::kCbcSha256:
      return prepare_cbc_sha256(key, cipher, mac);
    case crypto::EspTransform::kNone:
      break;
  }
  return false;
}

const char* suffix(crypto::EspTransform transform) {
  return transform == crypto::EspTransform::kCbcSha1     ? "-sha1"
         : transform == crypto::EspTransform::kCbcSha256 ? "-sha256"
                                                         : "";
}

bool seals(JobKind kind) {
  return kind == JobKind::kSealGcm || kind == JobKind::kSealCbc;
}

}  // namespace

void OffloadTable::add(const lookup::IpPrefix& prefix, unsigned next_hops) {
  const size_t number = v4.size() + v6.size();
  const auto group = static_cast<lookup::GroupId>(1 + (number * 2654435761u >> 16) % next_hops);
  if (prefix.address.family == lookup::Family::kIpv4)
    v4.push_back({prefix.v4(), group});
  else
    v6.push_back({prefix.v6(), group});
}

bool Workload::reserve(size_t items) {
  items_ = items;
  lookup::Memory& memory = lookup::Memory::system();
  input_ = lookup::MemoryBlock(memory, input_at(items), 0);
  output_ = lookup::MemoryBlock(memory, output_at(items), 0);
  bool there = input_.as<char>() != nullptr && output_.as<char>() != nullptr;
  if (packet_stride_ != 0) {
    payload_ = lookup::MemoryBlock(memory, payload_at(items), 0);
    result_ = lookup::MemoryBlock(memory, payload_at(items), 0);
    there = there && payload_.as<char>() != nullptr && result_.as<char>() != nullptr;
    scratch_result_.resize(payload_at(kCpuBatch));
  }
  scratch_.resize(std::max(output_at(items), output_at(kCpuBatch)));
  return there;
}

template <typename Address>
tl::expected<Workload, std::string> Workload::lookup(
    JobKind kind, Destinations destinations, const std::vector<lookup::Route<Address>>& routes,
    size_t items) {
  Workload work;
  work.kind_ = kind;
  work.name_ = gpu_offload::kJobKindNames[static_cast<unsigned>(kind)];
  if (destinations == Destinations::kUniform) work.name_ = "uniform-" + work.name_;
  const std::string name = work.name_;
  auto created = lookup::Fib<Address>::create();
  if (!created) return tl::unexpected(name + ": " + to_string(created.error()));
  std::shared_ptr<lookup::Fib<Address>> fib = std::move(*created);
  if (auto loaded = fib->load(routes); !loaded)
    return tl::unexpected(name + ": " + to_string(loaded.error()));
  fib->publish();
  work.table_ = fib->image();
  work.arena_info_ = work.table_->image[0];
  work.fib_ = fib;
  if (!work.reserve(items)) return tl::unexpected(std::string(name) + ": no memory");
  std::vector<lookup::Prefix<Address>> prefixes;
  for (const auto& route : routes) prefixes.push_back(route.prefix);
  const auto keys = make_destinations(destinations, prefixes, items, std::random_device{}());
  std::memcpy(work.input_.template as<char>(), keys.data(), work.input_at(items));
  const auto* bytes = reinterpret_cast<const char*>(keys.data());
  work.packets_.assign(bytes, bytes + work.input_at(items));
  using Key = typename std::decay_t<decltype(keys)>::value_type;
  work.look_up_ = [view = fib->view(0)](const char* input, char* output, size_t count) {
    lookup_batch(view, reinterpret_cast<const Key*>(input),
                 reinterpret_cast<lookup::GroupId*>(output), count);
  };
  work.answers_.resize(work.output_at(items));
  work.look_up_(bytes, work.answers_.data(), items);
  return work;
}

tl::expected<Workload, std::string> Workload::lookup4(const OffloadTable& table, size_t items,
                                                      Destinations destinations) {
  return lookup(JobKind::kLookup4, destinations, table.v4, items);
}

tl::expected<Workload, std::string> Workload::lookup6(const OffloadTable& table, size_t items,
                                                      Destinations destinations) {
  return lookup(JobKind::kLookup6, destinations, table.v6, items);
}

tl::expected<Workload, std::string> Workload::esp(JobKind kind, crypto::EspTransform transform,
                                                  uint16_t length, size_t payload_bytes) {
  Workload work;
  work.kind_ = kind;
  work.name_ = std::string(gpu_offload::kJobKindNames[static_cast<unsigned>(kind)]) +
               suffix(transform) + " " + std::to_string(length);
  work.length_ = length;
  work.packet_stride_ = (length + 16u + 15) / 16 * 16;
  if (!work.reserve(std::max<size_t>(payload_bytes / work.packet_stride_, 4 * kLeastStride)))
    return tl::unexpected(work.name_ + ": no memory");
  if (!work.make_packets(transform)) return tl::unexpected(work.name_ + ": bad keys");
  return work;
}

bool Workload::make_packets(crypto::EspTransform transform) {
  std::mt19937_64 random(std::random_device{}());
  auto table = std::make_shared<lookup::TableUpdate>();
  table->generation = 1;
  table->words = kSas * sizeof(crypto::EspKey) / 4;
  table->image.resize(table->words);
  for (unsigned i = 0; i < kSas; ++i) {
    crypto::EspKey key{};
    if (!prepare(key, transform, random)) return false;
    std::memcpy(table->image.data() + i * sizeof key / 4, &key, sizeof key);
  }
  arena_info_ = static_cast<uint32_t>(table->words);
  table_ = table;
  auto* packets = input_.as<crypto::EspPacket>();
  for (size_t i = 0; i < items_; ++i) {
    fill(&packets[i], sizeof packets[i], random);
    packets[i].key = static_cast<uint32_t>(random() % kSas);
    packets[i].length = packets[i].icv = static_cast<uint16_t>(length_);
    packets[i].aad_length = 8;
  }
  fill(payload_.as<char>(), payload_at(items_), random);
  if (!seals(kind_)) {  // what is opened has to have been sealed
    const JobKind seal = kind_ == JobKind::kOpenGcm ? JobKind::kSealGcm : JobKind::kSealCbc;
    const std::vector<char> sealed = run_esp(seal, payload_.as<char>(), answers_);
    std::memcpy(payload_.as<char>(), sealed.data(), sealed.size());
  }
  sealed_ = run_esp(kind_, payload_.as<char>(), answers_);
  packets_.assign(input_.as<char>(), input_.as<char>() + input_at(items_));
  packets_payload_.assign(payload_.as<char>(), payload_.as<char>() + payload_at(items_));
  return std::count(answers_.begin(), answers_.end(),
                    static_cast<char>(crypto::EspVerdict::kDone)) ==
         static_cast<std::ptrdiff_t>(items_);
}

// By crypto/ on all CPUs.
std::vector<char> Workload::run_esp(JobKind kind, const char* payload,
                                    std::vector<char>& verdicts) const {
  std::vector<char> buffer(payload, payload + payload_at(items_));
  verdicts.assign(items_, static_cast<char>(crypto::EspVerdict::kPending));
  std::vector<crypto::EspPacket> packets(items_);
  std::memcpy(packets.data(), input_.as<char>(), input_at(items_));
  const size_t parts = std::max(1u, std::thread::hardware_concurrency());
  const size_t each = (items_ + parts - 1) / parts;
  std::vector<std::thread> threads;
  for (size_t first = 0; first < items_; first += each) {
    threads.emplace_back([&, first] {
      const auto count = static_cast<uint32_t>(std::min(each, items_ - first));
      for (uint32_t i = 0; i < count; ++i) packets[first + i].payload = payload_at(i);
      const auto bytes = static_cast<uint32_t>(payload_at(count));
      char* part = buffer.data() + payload_at(first);
      const Job job{kind,
                    0,
                    0,
                    count,
                    bytes,
                    arena_info_,
                    table_->image.data(),
                    &packets[first],
                    &verdicts[first],
                    part,
                    part,
                    0};
      crypto::launch_esp_host(nullptr, gpu_offload::esp_job(job));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return buffer;
}

std::vector<Workload::Buffer> Workload::buffers() const {
  std::vector<Buffer> all{{input_.as<char>(), input_.bytes()},
                          {output_.as<char>(), output_.bytes()}};
  if (packet_stride_ != 0) {
    all.push_back({payload_.as<char>(), payload_.bytes()});
    all.push_back({result_.as<char>(), result_.bytes()});
  }
  return all;
}

size_t Workload::cut(uint32_t batch) {
  batch_ = batch;
  stride_ = std::max(batch, kLeastStride);
  const size_t batches = items_ / stride_;
  if (batches < 4) return 0;
  if (packet_stride_ != 0) name_payloads(stride_);
  return batches;
}

// A packet's payload is named from the start of its batch's.
void Workload::name_payloads(uint32_t stride) {
  for (char* where : {input_.as<char>(), packets_.data()}) {
    for (size_t i = 0; i < items_; ++i) {
      const uint64_t offset = payload_at(i % stride);
      std::memcpy(where + input_at(i) + offsetof(crypto::EspPacket, payload), &offset, 8);
    }
  }
}

Job Workload::job(size_t index, const uint32_t* arena) const {
  const size_t first = index * stride_;
  char* const payload = packet_stride_ == 0 ? nullptr : payload_.as<char>() + payload_at(first);
  char* const result = packet_stride_ == 0 ? nullptr : result_.as<char>() + payload_at(first);
  return {kind_,
          0,
          0,
          batch_,
          static_cast<uint32_t>(payload_at(batch_)),
          arena_info_,
          arena,
          input_.as<char>() + input_at(first),
          output_.as<char>() + output_at(first),
          payload,
          result,
          index};
}

void Workload::poison(size_t batches) {
  std::memset(output_.as<char>(), kPoison, output_at(batches * stride_));
  if (packet_stride_ != 0) std::memset(result_.as<char>(), kPoison, payload_at(batches * stride_));
}

uint64_t Workload::wrong(size_t batches) const {
  uint64_t wrong = 0;
  const size_t bytes = output_at(1);
  for (size_t index = 0; index < batches; ++index) {
    const size_t first = index * stride_;
    const bool same =
        std::memcmp(output_.as<char>() + output_at(first), &answers_[output_at(first)],
                    output_at(batch_)) == 0 &&
        (packet_stride_ == 0 || std::memcmp(result_.as<char>() + payload_at(first),
                                            &sealed_[payload_at(first)], payload_at(batch_)) == 0);
    for (size_t i = first; !same && i < first + batch_; ++i) {
      wrong +=
          std::memcmp(output_.as<char>() + output_at(i), &answers_[output_at(i)], bytes) != 0 ||
          (packet_stride_ != 0 && std::memcmp(result_.as<char>() + payload_at(i),
                                              &sealed_[payload_at(i)], packet_stride_) != 0);
    }
  }
  return wrong;
}

void Workload::gather(size_t index) {
  const size_t first = index * stride_;
  std::memcpy(input_.as<char>() + input_at(first), &packets_[input_at(first)], input_at(batch_));
  if (packet_stride_ != 0)
    std::memcpy(payload_.as<char>() + payload_at(first), &packets_payload_[payload_at(first)],
                payload_at(batch_));
}

// ESP: back into the packets' own place, which is all that these are there for.
void Workload::scatter(size_t index) {
  const size_t first = index * stride_;
  std::memcpy(&scratch_[output_at(first)], output_.as<char>() + output_at(first),
              output_at(batch_));
  for (uint32_t done = 0; packet_stride_ != 0 && done < batch_; done += kCpuBatch) {
    const uint32_t count = std::min(kCpuBatch, batch_ - done);
    std::memcpy(scratch_result_.data(), result_.as<char>() + payload_at(first + done),
                payload_at(count));
  }
}

void Workload::on_cpu(size_t first, uint32_t count) {
  count = std::min(count, kCpuBatch);
  if (look_up_) return look_up_(&packets_[input_at(first)], scratch_.data(), count);
  std::memcpy(scratch_result_.data(), &packets_payload_[payload_at(first)], payload_at(count));
  crypto::EspPacket packets[kCpuBatch];
  std::memcpy(packets, &packets_[input_at(first)], input_at(count));
  for (uint32_t i = 0; i < count; ++i) packets[i].payload = payload_at(i);
  const Job job{kind_,
                0,
                0,
                count,
                static_cast<uint32_t>(payload_at(count)),
                arena_info_,
                table_->image.data(),
                packets,
                scratch_.data(),
                nullptr,
                scratch_result_.data(),
                0};
  crypto::launch_esp_host(nullptr, gpu_offload::esp_job(job));
}

}  // namespace hecto::bench
