// One kind of work as a device takes it: a pool of random items with the answers that the CPU
// gives, to be cut into batches of any size.
//
//   input    | batch 0 .. | batch 1 .. | …       keys, or what names an ESP packet
//   payload  | packets    | packets    | …       ESP only
//   output, result                               poisoned, written by the device, held against
//   answers, sealed                              what the CPU wrote
//
// Needs neither DPDK nor CUDA. One thread; making one uses all CPUs for ESP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "bench/lib/destinations.hpp"
#include "gpu_offload/crypto/esp.hpp"
#include "gpu_offload/job.hpp"
#include "lookup/fib.hpp"
#include "lookup/memory_block.hpp"

namespace hecto::bench {

struct OffloadTable {
  std::string name;
  std::vector<lookup::Route<lookup::Ipv4Address>> v4;
  std::vector<lookup::Route<lookup::Ipv6Address>> v6;
  // The prefix goes behind its family's, with one of `next_hops` groups.
  void add(const lookup::IpPrefix& prefix, unsigned next_hops);
};

class Workload {
 public:
  using Job = gpu_offload::Job;
  using JobKind = gpu_offload::JobKind;
  static constexpr uint32_t kLeastStride = 64;  // items between two batches: whole cache lines

  // One FIB with all routes; an error is one line.
  static tl::expected<Workload, std::string> lookup4(
      const OffloadTable& table, size_t items, Destinations destinations = Destinations::kInTable);
  static tl::expected<Workload, std::string> lookup6(
      const OffloadTable& table, size_t items, Destinations destinations = Destinations::kInTable);
  // `length` bytes are encrypted of each packet (CBC: a multiple of 16), by one of 64 SAs.
  static tl::expected<Workload, std::string> esp(JobKind kind,
                                                 gpu_offload::crypto::EspTransform transform,
                                                 uint16_t length, size_t payload_bytes);

  JobKind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  size_t items() const { return items_; }
  uint32_t packet_bytes() const { return length_; }  // that are encrypted; look-ups: 0
  uint32_t arena_info() const { return arena_info_; }
  const lookup::TableUpdate& table() const { return *table_; }  // what the device has to hold

  struct Buffer {
    void* start;
    size_t bytes;
  };
  std::vector<Buffer> buffers() const;  // that the device reads and writes

  // From here on batches hold `batch` items. 0 where there is no room for four of them.
  size_t cut(uint32_t batch);  // the number of batches
  // `arena` is the device's copy of table().
  Job job(size_t index, const uint32_t* arena) const;
  // What the CPU made of a batch: outputs, and of ESP results.
  const char* answers(size_t index) const { return &answers_[output_at(index * stride_)]; }
  const char* sealed(size_t index) const {
    return packet_stride_ == 0 ? nullptr : &sealed_[payload_at(index * stride_)];
  }
  void poison(size_t batches);
  // How many items of these batches have not the CPU's answer.
  uint64_t wrong(size_t batches) const;

  // What a worker does besides: from packets to the slot, and back from it.
  void gather(size_t index);
  void scatter(size_t index);
  // The same items on this core in the router's way, up to 256 a call; answers go to a scratch
  // buffer.
  void on_cpu(size_t first, uint32_t count);

 private:
  Workload() = default;
  template <typename Address>
  static tl::expected<Workload, std::string> lookup(
      JobKind kind, Destinations destinations, const std::vector<lookup::Route<Address>>& routes,
      size_t items);
  bool reserve(size_t items);
  bool make_packets(gpu_offload::crypto::EspTransform transform);
  std::vector<char> run_esp(JobKind kind, const char* payload, std::vector<char>& verdicts) const;
  void name_payloads(uint32_t stride);
  size_t input_at(size_t item) const { return item * gpu_offload::input_bytes(kind_); }
  size_t output_at(size_t item) const { return item * gpu_offload::output_bytes(kind_); }
  size_t payload_at(size_t item) const { return item * packet_stride_; }

  JobKind kind_ = JobKind::kLookup4;
  std::string name_;
  size_t items_ = 0;
  uint32_t length_ = 0;
  uint32_t packet_stride_ = 0;  // bytes of payload an item takes; look-ups: 0
  uint32_t arena_info_ = 0;
  uint32_t batch_ = 1;
  uint32_t stride_ = kLeastStride;
  std::shared_ptr<const lookup::TableUpdate> table_;
  std::shared_ptr<const void> fib_;
  std::function<void(const char* input, char* output, size_t count)> look_up_;
  lookup::MemoryBlock input_, output_, payload_, result_;
  std::vector<char> packets_, packets_payload_;  // where a worker has them
  std::vector<char> answers_, sealed_;           // the CPU's
  std::vector<char> scratch_, scratch_result_;
};

}  // namespace hecto::bench
