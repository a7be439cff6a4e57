#include "router/ipsec/sa_history.hpp"

#include <algorithm>

namespace hecto::router {
namespace {

uint64_t key_of(const SaState& state) {
  return uint64_t{state.id.spi} << 32 | state.reqid;
}

}  // namespace

void SaHistory::record(const SaState& state, const esp::Sa& sa, uint32_t now_s) {
  if (records_.size() >= max_records_) return;
  records_[key_of(state)] = {sa.sequence.load(std::memory_order_relaxed) + kSequenceMargin,
                             sa.replay.top(), state.transform, now_s};
}

void SaHistory::resume(SaState& state, uint32_t now_s) const {
  const auto at = records_.find(key_of(state));
  if (at == records_.end() || at->second.transform != state.transform ||
      now_s - at->second.removed_s > kKept_s)
    return;
  state.sequence = std::max(state.sequence, at->second.sequence);
  state.replay_sequence = std::max(state.replay_sequence, at->second.replay_sequence);
}

void SaHistory::drop_old(uint32_t now_s) {
  std::erase_if(records_,
                [now_s](const auto& item) { return now_s - item.second.removed_s > kKept_s; });
}

}  // namespace hecto::router
