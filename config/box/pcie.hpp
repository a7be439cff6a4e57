// What a packet costs on its NIC's PCIe link: data and descriptors as TLPs with their headers,
// after Neugebauer et al., "Understanding PCIe performance for end host networking" (SIGCOMM 2018).
#pragma once

#include <optional>
#include <string>

#include "config/box/constants.hpp"

namespace hecto::config {

// The two directions of a link, or of what lies behind it.
struct Directions {
  double to_memory = 0;
  double from_memory = 0;
  Directions& operator+=(const Directions& other);
  Directions operator*(double factor) const { return {to_memory * factor, from_memory * factor}; }
};

// Bytes on the link, for a frame of so many bytes with FCS (which the NIC keeps). Descriptors are
// the constants' where the NIC's own are not known.
Directions link_bytes_received(const Constants& constants, double frame_bytes,
                               std::optional<double> descriptor_bytes = {});
Directions link_bytes_transmitted(const Constants& constants, double frame_bytes,
                                  std::optional<double> descriptor_bytes = {});

// Of one DMA: what a device writes to memory, or reads from it.
Directions link_bytes_written(const Constants& constants, double bytes);
Directions link_bytes_read(const Constants& constants, double bytes);

// Bytes behind the link, in an I/O hub: TLP headers end at the link, and whole cache lines move.
Directions hub_bytes_received(const Constants& constants, double frame_bytes);
Directions hub_bytes_transmitted(const Constants& constants, double frame_bytes);

// Of one direction after line coding: generations 1 and 2 code 8 bits in 10, later ones 128 in 130.
double link_gbit_s(double gt_s, unsigned lanes);
// 2.5, 5, 8, 16, 32, 64 for generations 1 to 6.
double gt_s_of_generation(unsigned generation);

std::string link_words(double gt_s, unsigned lanes);  // "PCIe 4.0 x16"

}  // namespace hecto::config
