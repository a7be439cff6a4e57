#include "bench/traffic/pcap.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "router/rib/route_file.hpp"

namespace hecto::bench {
namespace {

constexpr uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr uint32_t kNanoseconds = 0xa1b23c4d;
constexpr uint32_t kPcapng = 0x0a0d0d0a;  // the same in either byte order
constexpr uint32_t kLongestFrame_bytes = 65535;
constexpr uint32_t kShortestFrame_bytes = 14;

uint32_t magic_of(std::string_view bytes) {
  uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic;
}

bool is_classic(uint32_t magic) {
  return magic == kMicroseconds || magic == kNanoseconds;
}

struct Close {
  void operator()(pcap_t* file) const { pcap_close(file); }
};
using PcapFile = std::unique_ptr<pcap_t, Close>;

// libpcap's reader over a file in memory. An error is libpcap's.
tl::expected<PcapFile, std::string> open_bytes(std::string_view bytes) {
  FILE* stream = fmemopen(const_cast<char*>(bytes.data()), bytes.size(), "r");
  if (stream == nullptr) return tl::unexpected(std::string(std::strerror(errno)));
  char error[PCAP_ERRBUF_SIZE] = {};
  pcap_t* file =
      pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, error);
  if (file != nullptr) return PcapFile(file);
  std::fclose(stream);
  return tl::unexpected(std::string(error));
}

// What is wrong with frame number `index`, whose record begins at byte `at`; empty: nothing.
std::string refused_frame(const pcap_pkthdr& header, size_t index, long at,
                          const CaptureLimits& limits) {
  if (header.caplen > kLongestFrame_bytes || header.len > kLongestFrame_bytes)
    return fmt::format(
        "byte {}: frame {} has {} bytes, of which {} were kept; at most {} are possible, so the "
        "file is damaged",
        at, index, header.len, header.caplen, kLongestFrame_bytes);
  if (header.caplen < kShortestFrame_bytes || header.len < header.caplen)
    return fmt::format(
        "byte {}: frame {} has {} bytes, of which {} were kept; no Ethernet frame is like that", at,
        index, header.len, header.caplen);
  if (index > limits.frames)
    return fmt::format("more than {} frames; take fewer with `tcpdump -r FILE -c {} -w NEW`",
                       limits.frames, limits.frames);
  return {};
}

// Of a record that libpcap could not read.
std::string unread_frame(const std::string& error, size_t index, long at) {
  if (error.find("truncated") == std::string::npos)
    return fmt::format("byte {}: frame {}: {}; capture it anew", at, index, error);
  return fmt::format(
      "cut short in frame {} (byte {}); capture it anew, or keep its whole frames with `tcpdump -r "
      "FILE -c {} -w NEW`",
      index, at, index - 1);
}

}  // namespace

bool is_capture(std::string_view bytes) noexcept {
  if (bytes.size() < sizeof(uint32_t)) return false;
  const uint32_t magic = magic_of(bytes);
  return is_classic(magic) || is_classic(__builtin_bswap32(magic)) || magic == kPcapng;
}

Result<Capture> parse_capture(std::string_view bytes, const std::string& label,
                              const CaptureLimits& limits) {
  const auto refuse = [&](const std::string& text) {
    return fail(fmt::format("{}: {}", label, text), EINVAL);
  };
  if (!is_capture(bytes))
    return refuse(
        "not a capture; use a file of `tcpdump -w` or another in the pcap or pcapng format");
  const bool pcapng = magic_of(bytes) == kPcapng;
  if (!pcapng && bytes.size() < sizeof(pcap_file_header))
    return refuse(fmt::format("cut short in its header: {} bytes of {}; capture it anew",
                              bytes.size(), sizeof(pcap_file_header)));
  const auto file = open_bytes(bytes);
  if (!file)
    return refuse(fmt::format("its {} header cannot be read: {}; capture it anew",
                              pcapng ? "pcapng" : "pcap", file.error()));
  if (const int type = pcap_datalink(file->get()); type != DLT_EN10MB)
    return refuse(fmt::format("link type {}; use a capture of an Ethernet interface (1)", type));

  Capture capture;
  for (;;) {
    const size_t index = capture.frames.size() + 1;
    const long at = std::ftell(pcap_file(file->get()));
    pcap_pkthdr* header = nullptr;
    const u_char* frame = nullptr;
    const int got = pcap_next_ex(file->get(), &header, &frame);
    if (got == PCAP_ERROR_BREAK) break;
    if (got != 1) return refuse(unread_frame(pcap_geterr(file->get()), index, at));
    if (const std::string wrong = refused_frame(*header, index, at, limits); !wrong.empty())
      return refuse(wrong);
    capture.frames.push_back({static_cast<uint32_t>(capture.bytes.size()),
                              static_cast<uint16_t>(header->caplen), header->len});
    capture.bytes.insert(capture.bytes.end(), frame, frame + header->caplen);
  }
  if (capture.frames.empty()) return refuse("a capture without a frame; capture some");
  return capture;
}

Result<Capture> read_capture(const std::string& file, const CaptureLimits& limits) {
  auto bytes = router::read_file(file, limits.bytes);
  if (!bytes) return tl::unexpected(bytes.error());
  return parse_capture(*bytes, file, limits);
}

}  // namespace hecto::bench
