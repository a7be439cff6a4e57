// ESP on batches of packets: one Engine for each worker.
//
//   inbound    the outer header is skipped by what the SA says (IPv4 or IPv6, UDP or not, options
//   and
//              extension headers bounded), sequence number checked against the window, ICV
//              verified, only then the window marked, decrypted, padding and next header checked
//              (RFC 4303 §3.4), tunnel: inner header checked for family and length, ECN combined
//              (RFC 6040); transport: outer header mended (protocol, length, checksum). A dummy
//              packet (next header 59) ends as Reason::kEspDummy.
//   outbound   sequence numbers taken (one atomic for each run of an SA), IV made, header, padding,
//              ICV written in place; tunnel header with DSCP, ECN, DF by RFC 6040 and RFC 4301
//              §8.1. TTL of the outer header is what the caller says.
//
// Packets of a batch keep their places; any mixture of SAs. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "router/ipsec/esp/crypto_library.hpp"
#include "router/ipsec/esp/packet.hpp"

namespace hecto::router::esp {

struct Work;

class Engine {
 public:
  static constexpr unsigned kMaxBatch = 256;
  // Refuses where `library` does not run. Takes SAs that were made for it, and no others.
  static Result<std::unique_ptr<Engine>> create(CryptoLibrary library = best_crypto());
  ~Engine();

  void inbound(std::span<Packet> packets, uint32_t now_s) noexcept;  // at most kMaxBatch
  void outbound(std::span<Packet> packets, uint32_t now_s, uint8_t outer_ttl) noexcept;

  // The same in steps that may stand apart in time, for those who have a device for the second.
  // `to` has room for all packets, at most kMaxBatch; what goes on is there, in order, and names
  // its packet; the others have their reason.
  std::span<Work> check(std::span<Packet> packets, Work* to) noexcept;
  void open(std::span<Work> work) noexcept;  // leaves `failed` where the ICV is not right
  static void accept(std::span<const Work> work, uint32_t now_s) noexcept;
  std::span<Work> write(std::span<Packet> packets, uint32_t now_s, uint8_t outer_ttl,
                        Work* to) noexcept;
  void seal(std::span<Work> work) noexcept;  // leaves `failed` where that did not work
  static void finish(std::span<const Work> work) noexcept;

 private:
  Engine() = default;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hecto::router::esp
