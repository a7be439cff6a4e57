#include "router/cli/capture_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <span>

#include "router/api/packet_text.hpp"

namespace hecto::cli {
namespace {

// draft-ietf-opsawg-pcapng §4
constexpr uint32_t kInterfaceDescription = 1, kEnhancedPacket = 6;
constexpr uint16_t kComment = 1, kName = 2;
constexpr uint16_t kEthernet = 1;
constexpr size_t kBlockHead = 8, kBlockTail = 4;
constexpr size_t kInterfaceHead = 8, kPacketHead = 20;  // behind the block's

template <typename Number>
Number number_at(std::string_view bytes, size_t at) {
  Number number = 0;
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

constexpr size_t padded(size_t bytes) {
  return (bytes + 3) & ~size_t{3};
}

// Of the options that begin there; empty: it is not among them.
std::string_view option(std::string_view block, size_t at, uint16_t code) {
  while (at + 4 <= block.size()) {
    const auto here = number_at<uint16_t>(block, at);
    const size_t length = number_at<uint16_t>(block, at + 2);
    if (here == 0 || at + 4 + length > block.size()) return {};
    if (here == code) return block.substr(at + 4, length);
    at += 4 + padded(length);
  }
  return {};
}

}  // namespace

void CaptureText::interface(std::string_view block) {
  interfaces_.push_back(
      {number_at<uint16_t>(block, 0), std::string(option(block, kInterfaceHead, kName))});
}

std::string CaptureText::packet(std::string_view block) const {
  if (block.size() < kPacketHead) return {};
  const auto index = number_at<uint32_t>(block, 0);
  const size_t captured = number_at<uint32_t>(block, 12);
  const auto length = number_at<uint32_t>(block, 16);
  if (index >= interfaces_.size() || captured > block.size() - kPacketHead) return {};
  const uint64_t time_ns =
      uint64_t{number_at<uint32_t>(block, 4)} << 32 | number_at<uint32_t>(block, 8);
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(block.data()) + kPacketHead,
                                       captured);
  const Interface& interface = interfaces_[index];
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::string line =
      fmt::format("{:%H:%M:%S}.{:06} {:<8} {}", local, time_ns / 1000 % 1'000'000, interface.name,
                  (interface.link_type == kEthernet ? router::text_of_frame(bytes, length)
                                                    : router::text_of_ip(bytes, length))
                      .text);
  const std::string_view comment = option(block, kPacketHead + padded(captured), kComment);
  if (!comment.empty()) line += fmt::format(" ({})", comment);
  return line;
}

std::vector<std::string> CaptureText::lines(std::string_view piece) {
  std::vector<std::string> lines;
  while (piece.size() >= kBlockHead + kBlockTail) {
    const auto type = number_at<uint32_t>(piece, 0);
    const size_t size = number_at<uint32_t>(piece, 4);
    if (size < kBlockHead + kBlockTail || size > piece.size()) break;
    const std::string_view block = piece.substr(kBlockHead, size - kBlockHead - kBlockTail);
    if (type == kInterfaceDescription) interface(block);
    if (type == kEnhancedPacket)
      if (std::string line = packet(block); !line.empty()) lines.push_back(std::move(line));
    piece.remove_prefix(size);
  }
  return lines;
}

}  // namespace hecto::cli
