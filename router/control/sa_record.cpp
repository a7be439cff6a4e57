#include "router/control/sa_record.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/run_state.hpp"

namespace hecto::router {

const SaNumbers* SaRecord::find(const std::vector<SaNumbers>& all, const SaId& id, uint64_t print) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const SaNumbers& one) {
    return one.id == id && one.fingerprint == print;
  });
  return at == all.end() ? nullptr : &*at;
}

std::vector<SaNumbers> SaRecord::read() {
  auto bytes = file_.read();
  if (!bytes) {
    spdlog::warn("persist: {}", bytes.error().message);
    return {};
  }
  if (!*bytes) return {};
  auto state = run_state_from({(*bytes)->begin(), (*bytes)->end()});
  if (!state) {
    spdlog::warn("persist: {} is damaged or of another version", file_.path());
    return {};
  }
  return recorded_ = std::move(state->sas);
}

Result<void> SaRecord::write(const Prints& kept, const std::vector<SaNumbers>& now,
                             uint64_t reserve) {
  RunState record;
  record.sas = now;
  for (SaNumbers& one : record.sas) one.sequence += reserve;
  for (const SaNumbers& one : recorded_) {
    const auto print = kept.find(one.id);
    if (print != kept.end() && (print->second == one.fingerprint || print->second == kAnyPrint) &&
        find(now, one.id, one.fingerprint) == nullptr)
      record.sas.push_back(one);
  }
  const std::string text = to_text(record);
  const auto written =
      record.sas.empty()
          ? file_.remove()
          : file_.write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  if (!written) return written;
  recorded_ = std::move(record.sas);
  exact_ = now;
  seconds_ = 0;
  trouble_.clear();
  return {};
}

void SaRecord::watch(const Prints& kept, const std::vector<SaNumbers>& now) {
  ++seconds_;
  const bool urgent = std::any_of(now.begin(), now.end(), [&](const SaNumbers& one) {
    const SaNumbers* record = find(recorded_, one.id, one.fingerprint);
    return record == nullptr || one.sequence + SaNumbers::kReserve / 2 > record->sequence;
  });
  if (!urgent && (seconds_ < kSeconds || now == exact_)) return;
  const bool trouble = !trouble_.empty();
  if (auto written = write(kept, now, SaNumbers::kReserve); !written) {
    trouble_ = written.error().message + ": SAs that are kept are not taken up by a restart";
    if (!trouble) spdlog::warn("persist: {}", trouble_);
    if (!urgent) return;
    if (auto gone = file_.remove(); !gone)
      trouble_ = gone.error().message +
                 ": it is behind what SAs have sent; remove it before hectod starts again";
    recorded_.clear();
  } else if (trouble) {
    spdlog::info("persist: {} is written again", file_.path());
  }
}

void SaRecord::end(const Prints& kept, const std::vector<SaNumbers>& now) {
  if (kept.empty() && recorded_.empty()) return;
  if (auto written = write(kept, now, 0); !written)
    spdlog::warn("persist: {}", written.error().message);
}

}  // namespace hecto::router
