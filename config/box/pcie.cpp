#include "config/box/pcie.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace hecto::config {
namespace {

using enum Constant;

constexpr double kFcs_bytes = 4;
constexpr double kCacheLine_bytes = 64;
constexpr std::array kGtS = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};

double data_bytes(double frame_bytes) {
  return std::max(0.0, frame_bytes - kFcs_bytes);
}

double lines_bytes(double bytes) {
  return std::ceil(bytes / kCacheLine_bytes) * kCacheLine_bytes;
}

// A memory write, cut into TLPs.
double write(const Constants& c, double bytes) {
  return bytes + std::ceil(bytes / c[kPcieMaxPayloadBytes]) * c[kPcieWriteHeaderBytes];
}

// A memory read: requests one way, completions the other. `to_memory` is the requests' direction.
Directions read(const Constants& c, double bytes) {
  return {std::ceil(bytes / c[kPcieMaxReadRequestBytes]) * c[kPcieReadHeaderBytes],
          bytes + std::ceil(bytes / c[kPcieMaxPayloadBytes]) * c[kPcieCompletionHeaderBytes]};
}

// Fetched and written back in batches; the driver writes the tail pointer.
Directions descriptor(const Constants& c, double bytes, double writeback_batch) {
  Directions out =
      read(c, bytes * c[kPcieDescriptorFetchBatch]) * (1 / c[kPcieDescriptorFetchBatch]);
  out.to_memory += write(c, bytes * writeback_batch) / writeback_batch;
  out.from_memory += (c[kPcieDoorbellBytes] + c[kPcieWriteHeaderBytes]) / c[kPcieDoorbellBatch];
  return out;
}

}  // namespace

Directions& Directions::operator+=(const Directions& other) {
  to_memory += other.to_memory;
  from_memory += other.from_memory;
  return *this;
}

Directions link_bytes_received(const Constants& c, double frame_bytes,
                               std::optional<double> descriptor_bytes) {
  Directions out =
      descriptor(c, descriptor_bytes.value_or(c[kPcieDescriptorBytes]), c[kPcieRxWritebackBatch]);
  out.to_memory += write(c, data_bytes(frame_bytes));
  return out;
}

Directions link_bytes_transmitted(const Constants& c, double frame_bytes,
                                  std::optional<double> descriptor_bytes) {
  Directions out =
      descriptor(c, descriptor_bytes.value_or(c[kPcieDescriptorBytes]), c[kPcieTxWritebackBatch]);
  out += read(c, data_bytes(frame_bytes));
  return out;
}

Directions link_bytes_written(const Constants& c, double bytes) {
  return {write(c, bytes), 0};
}

Directions link_bytes_read(const Constants& c, double bytes) {
  return read(c, bytes);
}

Directions hub_bytes_received(const Constants& c, double frame_bytes) {
  return {lines_bytes(data_bytes(frame_bytes)) + c[kPcieDescriptorBytes], c[kPcieDescriptorBytes]};
}

Directions hub_bytes_transmitted(const Constants& c, double frame_bytes) {
  return {c[kPcieDescriptorBytes], lines_bytes(data_bytes(frame_bytes)) + c[kPcieDescriptorBytes]};
}

double link_gbit_s(double gt_s, unsigned lanes) {
  return gt_s * lanes * (gt_s < 8 ? 0.8 : 128.0 / 130.0);
}

double gt_s_of_generation(unsigned generation) {
  return kGtS.at(generation - 1);
}

std::string link_words(double gt_s, unsigned lanes) {
  unsigned generation = 1;
  while (generation < kGtS.size() && gt_s > 1.1 * kGtS[generation - 1]) ++generation;
  return fmt::format("PCIe {}.0 x{}", generation, lanes);
}

}  // namespace hecto::config
