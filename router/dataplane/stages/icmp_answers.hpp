// ICMP errors to senders (icmp_error.hpp), with bounds for each source, for each interface and in all:
// what does not fit, or is rejected, becomes the answer, and waits for the end of its chunk. Of one
// thread.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/stages/answer_limit.hpp"

namespace hecto::router {

class IcmpAnswers {
 public:
  // Whom to leave to Linux, which knows the source address that its route wants: nobody, or those to
  // whom the way back is another than the one that they came by.
  enum class Others : uint8_t { kAnswered, kLeft };
  // For the chunks that come now. `source_pps`: of one source; all of them have the punt's of `reason`.
  void use(const Snapshot& snapshot, const TableViews& tables, uint32_t source_pps, Others others,
           Reason reason = Reason::kTooBig) noexcept;
  // The packet becomes the answer, that it is too big or prohibited. False, and it is as it was: there is to be none, its sender has
  // had enough of them, or the way to it is not known here.
  bool add(rte_mbuf* packet, Ingress ingress, uint32_t mtu) noexcept;
  bool add_prohibited(rte_mbuf* packet, Ingress ingress) noexcept;
  bool empty() const noexcept { return count_ == 0; }
  unsigned count() const noexcept { return count_; }
  uint64_t made() const noexcept { return made_.get(); }  // so far; from any thread
  // To the lanes, looked up: send(packet, ingress) says whether it goes, else it is the caller's.
  template <typename Send>
  void deliver(Chunk& chunk, Send&& send) noexcept {
    for (unsigned i = 0; i < count_; ++i) {
      const Answer& answer = answers_[i];
      if (!send(answer.packet, answer.ingress)) continue;
      if (answer.ipv4)
        put(chunk.v4, answer);
      else
        put(chunk.v6, answer);
    }
    count_ = 0;
  }

 private:
  template <typename Make>
  bool add_made(rte_mbuf* packet, Ingress ingress, Make&& make) noexcept;
  struct Answer {
    rte_mbuf* packet;
    Ingress ingress;
    lookup::GroupId group;
    bool ipv4;
  };
  template <typename Address>
  static void put(Lane<Address>& lane, const Answer& answer) noexcept {
    lane.packets[lane.count] = answer.packet;
    lane.groups[lane.count] = answer.group;
    lane.ingress[lane.count++] = answer.ingress;
  }

  const Snapshot* snapshot_ = nullptr;
  const TableViews* tables_ = nullptr;
  Others others_ = Others::kLeft;
  AnswerLimit limit_;
  Counter made_;
  unsigned count_ = 0;
  Answer answers_[kChunkSize];
};

}  // namespace hecto::router
