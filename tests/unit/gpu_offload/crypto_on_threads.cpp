// The lanes of a packet as threads: what the kernels' shuffles and syncs order, barriers order
// here, and nothing else. So a step that reads what another lane may have overwritten shows without
// a GPU, at the latest under ThreadSanitizer.
#include <array>
#include <barrier>
#include <thread>
#include <vector>

#include "gpu_offload/crypto/aes_tables.hpp"
#include "gpu_offload/crypto/run.hpp"
#include "tests/unit/gpu_offload/crypto_launchers.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

constexpr uint32_t kThreadLanes = 8;

struct Meeting {
  std::barrier<> barrier{kThreadLanes};
  std::barrier<> pair{2};  // of those that seal CBC
  std::array<Block, kThreadLanes> shares;
};

struct ThreadLanes {
  static constexpr uint32_t kWidth = kThreadLanes;
  uint32_t lane;
  Meeting& meeting;

  template <class T>
  struct PerLane {
    T value;
    T& operator[](uint32_t) { return value; }
  };

  template <class Step>
  void each(Step step) const {
    step(lane);
  }
  template <class Step>
  Block xor_sum(Step step) const {
    meeting.shares[lane] = step(lane);
    sync();
    Block sum{};
    for (const Block& share : meeting.shares) sum = sum ^ share;
    sync();  // before the next one's shares
    return sum;
  }
  void sync() const { meeting.barrier.arrive_and_wait(); }
};

// As the kernels: CBC is sealed by two threads, and its verification one's work.
void run_lane(const ThreadLanes& lanes, const EspJob& job) {
  HostTables tables;
  for (uint32_t i = 0; i < job.packet_count; ++i) {
    EspVerdict& verdict = job.verdicts[i];
    if (job.kind == EspKind::kSealGcm) {
      EspVerdict mine = run_gcm_seal(lanes, tables, job, i);
      if (lanes.lane == 0) verdict = mine;
    } else if (job.kind == EspKind::kOpenGcm) {
      EspVerdict mine = run_gcm_open(lanes, tables, job, i);
      if (lanes.lane == 0) verdict = mine;
    } else if (job.kind == EspKind::kSealCbc) {
      if (lanes.lane > 1) continue;
      const SealRole role = lanes.lane == 0 ? SealRole::kEncrypts : SealRole::kHashes;
      uint32_t longer = i % 3;  // steps of a packet beside it
      EspVerdict mine = run_cbc_seal(tables, job, i, role, [&](bool more) {
        lanes.meeting.pair.arrive_and_wait();
        return more || longer-- > 0;
      });
      if (role == SealRole::kHashes) verdict = mine;
    } else {
      if (lanes.lane == 0) verdict = run_cbc_verify(job, i);
      lanes.sync();
      if (verdict == EspVerdict::kDone) run_cbc_decrypt(lanes, tables, job, i);
    }
  }
}

}  // namespace

int launch_on_threads(void* /*stream*/, const EspJob& job) noexcept {
  Meeting meeting;
  std::vector<std::jthread> threads;
  for (uint32_t lane = 0; lane < kThreadLanes; ++lane) {
    threads.emplace_back([&, lane] { run_lane({lane, meeting}, job); });
  }
  return 0;
}

}  // namespace hecto::gpu_offload::crypto
