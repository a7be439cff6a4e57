// A bed whose ports are those of a bridge: stations behind the receive port, as many behind the two
// egress ports, and 64-byte frames from one to another. While no worker runs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/bed/bed.hpp"

namespace hecto::bench {

class Stations {
 public:
  // `count`: of each side.
  Stations(Bed& bed, unsigned count);
  // So many frames and more: each leaves by its station's port, as it came in.
  Result<uint64_t> verify(size_t frames, const std::function<unsigned()>& poll);

 private:
  Bed& bed_;
  WholeFrames frames_;
  std::vector<unsigned> sides_;  // of each frame's destination
};

}  // namespace hecto::bench
