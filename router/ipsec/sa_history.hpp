// Numbers at which removed SAs stopped. charon moves an SA to another address by removing it and
// adding it again, with the same keys: the new one must use no sequence number a second time, and
// accept none.
//
// Times in seconds of one clock. Owned by the control thread; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router {

class SaHistory {
 public:
  static constexpr uint32_t kKept_s = 10;
  // How far an SA that is made anew stays behind the numbers of the one before, which workers may
  // still give out meanwhile: more than all of them take in a burst.
  static constexpr uint64_t kSequenceMargin = 1 << 15;

  explicit SaHistory(size_t max_records) : max_records_(max_records) {}

  void record(const SaState& state, const esp::Sa& sa, uint32_t now_s);
  // Raises `state`'s numbers to those of an SA with its SPI, reqid and transform.
  void resume(SaState& state, uint32_t now_s) const;
  void drop_old(uint32_t now_s);

 private:
  struct Record {
    uint64_t sequence, replay_sequence;
    esp::Transform transform;
    uint32_t removed_s;
  };

  size_t max_records_;
  std::unordered_map<uint64_t, Record> records_;  // by SPI and reqid
};

}  // namespace hecto::router
