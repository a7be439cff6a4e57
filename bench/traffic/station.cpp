#include "bench/traffic/station.hpp"

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

constexpr unsigned kAhead = 4;         // packets whose bytes are fetched before their turn
constexpr unsigned kMostDrains = 256;  // bursts: a port that never runs dry must not hold us up
constexpr double kQuiet_s = 0.001;     // after the last packet, for duplicates

constexpr uint32_t kShortTag = UINT32_MAX;  // in place of what varies, which has 16 bits

// Of a buffer as its pool gives it out: one segment, one owner. Without offload flags no driver
// looks at the rest, so that the buffer's second cache line stays untouched.
uint8_t* begin_packet(rte_mbuf* mbuf, uint16_t length) noexcept {
  mbuf->data_off = RTE_PKTMBUF_HEADROOM;
  mbuf->ol_flags = 0;
  mbuf->data_len = length;
  mbuf->pkt_len = length;
  return static_cast<uint8_t*>(mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM;
}

}  // namespace

// As drivers do for RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE: whole buffers of one pool go back together,
// without a look at their second cache lines.
void free_burst(rte_mbuf** mbufs, unsigned count) noexcept {
  rte_mempool* pool = mbufs[0] != nullptr ? mbufs[0]->pool : nullptr;
  for (unsigned i = 0; i < count; ++i) {
    const rte_mbuf* mbuf = mbufs[i];
    if (mbuf == nullptr || mbuf->pool != pool || mbuf->refcnt != 1 || mbuf->nb_segs != 1 ||
        !RTE_MBUF_DIRECT(mbuf)) {
      rte_pktmbuf_free_bulk(mbufs, count);
      return;
    }
  }
  rte_mempool_put_bulk(pool, reinterpret_cast<void**>(mbufs), count);
}

Station::Station(const Options& options)
    : receivers(options.streams), options_(options), clock_(options.tsc_hz) {}

void Station::prepare(const TrialClock& trial, const std::vector<uint64_t>& first) {
  for (TxStream& stream : senders) {
    stream.sent = stream.refused = stream.bytes = stream.held_back = 0;
    stream.credit = 0;
    stream.pace = Pace(trial.pps * stream.part, options_.tsc_hz, trial.start, options_.burst);
  }
  for (size_t i = 0; i < receivers.size(); ++i) {
    RxStream& stream = receivers[i];
    stream.window.restart(first[i]);
    if (stream.check != nullptr) stream.cursor.restart(first[i]);
    stream.wrong = {};
    stream.latency_ns.clear();
    stream.jitter_ns.clear();
    stream.last_ns = UINT64_MAX;
    stream.run = 0;
    stream.replayed = 0;
  }
  for (RxPort& port : ports) port.foreign = 0;
  received_.store(0, std::memory_order_relaxed);
}

// Frames, and with kTimed all of them but the time, which comes last, when the burst is whole.
// Bytes may be anything to the compiler: what stays the same is kept in locals.
template <bool kIpv6, bool kTimed>
void Station::write(TxStream& stream, rte_mbuf** mbufs, unsigned count) noexcept {
  const StreamFrames& frames = *stream.frames;
  uint32_t sums[kMaxBurst];
  uint8_t* tags[kMaxBurst];
  bool any_short = false;
  const auto* const table = [&frames] {
    if constexpr (kIpv6)
      return frames.records6.data();
    else
      return frames.records4.data();
  }();
  const size_t places = frames.pattern.size(), records = frames.records;
  const uint8_t l3 = frames.l3;
  const auto sequence = static_cast<uint32_t>(stream.sequence);
  size_t place = stream.place, record = stream.record;
  uint64_t bytes = 0;
  const unsigned run = places == 1 ? count : 1;  // of one shape
  for (unsigned i = 0; i < count;) {
    const FrameTemplate& from = frames.templates[frames.pattern[place]];
    const FrameShape shape = from;
    place = place + 1 == places ? 0 : place + 1;
    bytes += uint64_t{run} * shape.frame_bytes;
    any_short |= shape.short_tag;
    for (const unsigned end = i + run; i < end; ++i) {
      uint8_t* frame = begin_packet(mbufs[i], shape.length);
      uint32_t sum = fold(sequence + i);
      if constexpr (kIpv6)
        sum += write_frame6(frame, shape, from.bytes.data(), l3, table[record]);
      else
        sum += write_frame4(frame, shape, from.bytes.data(), l3, table[record]);
      record = record + 1 == records ? 0 : record + 1;
      uint8_t* tag = frame + shape.tag;
      if (!shape.short_tag)
        write_sequence(tag, sequence + i);
      else if constexpr (!kTimed)
        write_short_tag(tag, sequence + i, 0);
      if constexpr (kTimed) {
        tags[i] = tag;
        sums[i] = shape.short_tag ? kShortTag : sum;
      } else if (!shape.short_tag) {
        write_time(tag, 0, sum);
      }
    }
  }
  stream.place = place;
  stream.record = record;
  stream.bytes += bytes;
  if constexpr (kTimed) write_times(tags, sums, any_short, sequence, count);
}

void Station::write_times(uint8_t* const* tags, const uint32_t* sums, bool any_short,
                          uint32_t sequence, unsigned count) const noexcept {
  const uint64_t now = rte_rdtsc();
  const uint32_t time = clock_.time(now), time_sum = fold(time);
  if (!any_short) {
    for (unsigned i = 0; i < count; ++i) write_time(tags[i], time, time_sum + sums[i]);
    return;
  }
  const uint32_t short_time = clock_.short_time(now);
  for (unsigned i = 0; i < count; ++i)
    if (sums[i] == kShortTag)
      write_short_tag(tags[i], sequence + i, short_time);
    else
      write_time(tags[i], time, time_sum + sums[i]);
}

void Station::write_replay(TxStream& stream, rte_mbuf** mbufs, unsigned count) noexcept {
  const Capture& capture = stream.frames->capture;
  for (unsigned i = 0; i < count; ++i) {
    const Capture::Frame& frame = capture.frames[stream.place];
    if (++stream.place == capture.frames.size()) stream.place = 0;
    const uint16_t length = std::max<uint16_t>(frame.length, kMinFrame_bytes - kFcs_bytes);
    uint8_t* to = begin_packet(mbufs[i], length);
    std::memcpy(to, capture.bytes.data() + frame.offset, frame.length);
    std::memset(to + frame.length, 0, length - frame.length);
    stream.bytes += length + kFcs_bytes;
  }
}

// Returns what the port took. The others keep their sequence numbers, for the next time.
unsigned Station::send(TxStream& stream, unsigned count) noexcept {
  rte_mbuf* mbufs[kMaxBurst];
  if (rte_mempool_get_bulk(stream.pool, reinterpret_cast<void**>(mbufs), count) != 0) return 0;
  const StreamFrames& frames = *stream.frames;
  const size_t record = stream.record, place = stream.place;
  if (frames.replayed())
    write_replay(stream, mbufs, count);
  else if (frames.ipv6)
    options_.timestamps ? write<true, true>(stream, mbufs, count)
                        : write<true, false>(stream, mbufs, count);
  else
    options_.timestamps ? write<false, true>(stream, mbufs, count)
                        : write<false, false>(stream, mbufs, count);
  const unsigned sent = rte_eth_tx_burst(stream.port, 0, mbufs, static_cast<uint16_t>(count));
  stream.sequence += sent;
  stream.sent += sent;
  if (sent == count) return sent;
  for (unsigned i = sent; i < count; ++i) stream.bytes -= mbufs[i]->pkt_len + kFcs_bytes;
  rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
  const size_t places = frames.replayed() ? frames.capture.frames.size() : frames.pattern.size();
  stream.place = (place + sent) % places;
  if (frames.records > 0) stream.record = (record + sent) % frames.records;
  return sent;
}

void Station::send_due(TrialClock& trial, uint64_t now) noexcept {
  if (trial.pps > 0) {
    for (TxStream& stream : senders) {
      const auto count =
          static_cast<unsigned>(std::min<uint64_t>(stream.pace.due(now), options_.burst));
      if (count == 0) continue;
      stream.refused += count - send(stream, count);
      stream.pace.sent(count);
    }
    return;
  }
  TxStream* next = &senders.front();
  double parts = 0;
  for (TxStream& stream : senders) {
    stream.credit += stream.part;
    parts += stream.part;
    if (stream.credit > next->credit) next = &stream;
  }
  next->credit -= parts;
  next->held_back += options_.burst - send(*next, options_.burst);
}

template <bool kShort>
inline void Station::count(RxStream& stream, uint64_t sequence, uint32_t sent,
                           uint64_t now) noexcept {
  if (!stream.window.take(sequence) || !options_.timestamps) return;
  if (sent != stream.run_sent || now != stream.run_received) {
    end_run(stream);
    stream.run_sent = sent;
    stream.run_received = now;
    stream.run_short = kShort;
  }
  ++stream.run;
}

void Station::end_run(RxStream& stream) noexcept {
  if (stream.run == 0) return;
  const uint64_t ns = stream.run_short
                          ? clock_.short_elapsed_ns(stream.run_received, stream.run_sent)
                          : clock_.elapsed_ns(stream.run_received, stream.run_sent);
  stream.latency_ns.record(ns, stream.run);
  if (stream.last_ns != UINT64_MAX)
    stream.jitter_ns.record(ns > stream.last_ns ? ns - stream.last_ns : stream.last_ns - ns);
  if (stream.run > 1) stream.jitter_ns.record(0, stream.run - 1);
  stream.last_ns = ns;
  stream.run = 0;
}

[[gnu::noinline]] void Station::take_other(RxPort& port, rte_mbuf*& mbuf) noexcept {
  if (mbuf->nb_segs == 1) {
    const std::span<uint8_t> frame(rte_pktmbuf_mtod(mbuf, uint8_t*), mbuf->data_len);
    if (const size_t bytes = answer_neighbor(frame, port.own); bytes > 0) {
      rte_pktmbuf_trim(mbuf, static_cast<uint16_t>(mbuf->data_len - bytes));
      // Without offloads: what the receiving driver has noted of it is not true any more.
      mbuf->ol_flags = 0;
      if (rte_eth_tx_burst(port.port, 0, &mbuf, 1) == 1) mbuf = nullptr;
      return;
    }
  }
  if (port.replay < receivers.size())
    ++receivers[port.replay].replayed;
  else
    ++port.foreign;
}

template <bool kIpv6, bool kShort>
[[gnu::always_inline]] inline void Station::take_ours(const Arrived& arrived, const Tag& tag,
                                                      uint64_t now) noexcept {
  RxStream& stream = receivers[tag.stream];
  const uint64_t sequence = stream.cursor.expand(tag.sequence, kShort ? 24 : 32);
  const PacketCursor::Place at = stream.cursor.find(sequence);
  if (!stream.check->matches<kIpv6, kShort>(arrived, at.record, at.place)) [[unlikely]]
    if (!take_odd<kIpv6, kShort>(stream, arrived, sequence, at)) return;
  stream.cursor.pass(sequence, at);
  count<kShort>(stream, sequence, tag.time, now);
}

// True: it is right after all. A wrong one moves the cursor only when it is surely that packet: what
// is broken must not lead astray what is not.
template <bool kIpv6, bool kShort>
[[gnu::noinline]] bool Station::take_odd(RxStream& stream, Arrived arrived, uint64_t sequence,
                                         PacketCursor::Place at) noexcept {
  const FrameCheck& check = *stream.check;
  const Verdict verdict = check.judge<kIpv6, kShort>(arrived, at.record, at.place);
  if (verdict == Verdict::kRight) return true;
  if (check.is_packet<kIpv6, kShort>(arrived.bytes + arrived.l3, at.record))
    stream.cursor.pass(sequence, at);
  if (!stream.window.is_stale(sequence)) ++stream.wrong[verdict];
  return false;
}

inline void Station::take(RxPort& port, rte_mbuf*& mbuf, uint64_t now) noexcept {
  if (mbuf->nb_segs > 1) [[unlikely]]
    rte_pktmbuf_linearize(mbuf);
  const auto* frame = rte_pktmbuf_mtod(mbuf, const uint8_t*);
  Arrived arrived{frame, mbuf->pkt_len, mbuf->data_len, 14, arrived_at(port.place, 0)};
  uint16_t type = load16_native(frame + 12);
  unsigned l3 = 14;
  if (type == kEtherVlan) {
    type = load16_native(frame + 16);
    arrived.where = arrived_at(port.place, load16_be(frame + 14) & 0xfff);
    arrived.l3 = l3 = 18;
  }
  const uint8_t* ip = frame + l3;
  const uint16_t bytes = mbuf->data_len;
  Tag tag;
  if (type == kEtherIpv4 && bytes >= l3 + 28 + kTag_bytes && ip[0] == 0x45 && ip[9] == kUdp &&
      read_tag(ip + 28, tag) && is_ours(tag.stream)) {
    take_ours<false, false>(arrived, tag, now);
  } else if (type == kEtherIpv6 && bytes >= l3 + 48 + kTag_bytes && ip[6] == kUdp &&
             read_tag(ip + 48, tag) && is_ours(tag.stream)) {
    take_ours<true, false>(arrived, tag, now);
  } else if (type == kEtherIpv6 && bytes >= l3 + 40 + kShortTag_bytes && ip[6] == kNoNextHeader &&
             load16_native(ip + 16) == kTagMagic && is_ours(tag.stream = load16_native(ip + 18))) {
    read_short_tag(ip + 40, tag);
    take_ours<true, true>(arrived, tag, now);
  } else {
    take_other(port, mbuf);
  }
}

bool Station::receive(RxPort& port) noexcept {
  rte_mbuf* mbufs[kMaxBurst];
  const unsigned count = rte_eth_rx_burst(port.port, 0, mbufs, kMaxBurst);
  if (count == 0) return false;
  const uint64_t now = rte_rdtsc();
  for (unsigned i = 0; i < std::min(count, kAhead); ++i)
    rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void*));
  for (unsigned i = 0; i < count; ++i) {
    if (i + kAhead < count) rte_prefetch0(rte_pktmbuf_mtod(mbufs[i + kAhead], void*));
    take(port, mbufs[i], now);
  }
  free_burst(mbufs, count);
  return true;
}

void Station::drain() noexcept {
  if (options_.poller != nullptr) options_.poller->begin();
  for (RxPort& port : ports)
    for (unsigned i = 0; i < kMostDrains && receive(port); ++i) {
    }
  if (options_.poller != nullptr) options_.poller->end();
}

void Station::run(TrialClock& trial, const std::vector<Station*>& all) noexcept {
  uint64_t now = rte_rdtsc();
  if (options_.poller != nullptr) options_.poller->begin();
  while (now < trial.end && !trial.over()) {
    if (options_.poller != nullptr) options_.poller->turn();
    if (!senders.empty() && now >= trial.start) send_due(trial, now);
    for (RxPort& port : ports) receive(port);
    now = rte_rdtsc();
  }
  ended_ = now;
  settle(trial, all);
  if (options_.poller != nullptr) options_.poller->end();
  for (RxStream& stream : receivers) end_run(stream);
}

// Until all that was sent has come, and a moment longer, for duplicates; but not for ever.
void Station::settle(TrialClock& trial, const std::vector<Station*>& all) noexcept {
  uint64_t sent = 0;
  for (const TxStream& stream : senders) sent += stream.sent;
  trial.sent.fetch_add(sent, std::memory_order_relaxed);
  trial.sending.fetch_sub(1, std::memory_order_release);
  const auto quiet = static_cast<uint64_t>(kQuiet_s * static_cast<double>(options_.tsc_hz));
  uint64_t complete_since = 0;
  const uint64_t deadline = ended_ + trial.settle;
  for (uint64_t now = ended_; now < deadline; now = rte_rdtsc()) {
    if (options_.poller != nullptr) options_.poller->turn();
    for (RxPort& port : ports)
      if (receive(port)) complete_since = 0;
    uint64_t mine = 0, received = 0;
    for (const RxStream& stream : receivers) mine += stream.window.received() + stream.replayed;
    received_.store(mine, std::memory_order_relaxed);
    if (trial.sending.load(std::memory_order_acquire) > 0 || trial.over()) continue;
    for (const Station* station : all) received += station->received();
    if (received < trial.sent.load(std::memory_order_relaxed)) continue;
    if (complete_since == 0) complete_since = now;
    if (now - complete_since > quiet) return;
  }
}

}  // namespace hecto::bench
