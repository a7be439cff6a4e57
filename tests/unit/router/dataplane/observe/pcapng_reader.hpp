// A pcapng file taken apart again, by the letter of draft-ietf-opsawg-pcapng and not by our writer.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace hecto::router::test {

struct PcapngBlock {
  uint32_t type = 0;
  std::string body;  // between the two lengths
  // Those behind the first `fixed` bytes of the body, by code.
  std::map<uint16_t, std::string> options(size_t fixed) const {
    std::map<uint16_t, std::string> all;
    for (size_t at = fixed; at + 4 <= body.size();) {
      const auto code = number<uint16_t>(at), bytes = number<uint16_t>(at + 2);
      if (code == 0) {
        if (bytes != 0 || at + 4 != body.size()) throw std::runtime_error("end of options");
        return all;
      }
      all[code] = body.substr(at + 4, bytes);
      at += 4 + (bytes + 3u) / 4 * 4;
    }
    throw std::runtime_error("options without an end");
  }
  template <typename Number>
  Number number(size_t at) const {
    if (at + sizeof(Number) > body.size()) throw std::runtime_error("a block is too short");
    Number value;
    std::memcpy(&value, body.data() + at, sizeof value);
    return value;
  }
};

inline std::vector<PcapngBlock> pcapng_blocks(const std::string& file) {
  std::vector<PcapngBlock> blocks;
  const PcapngBlock all{0, file};
  for (size_t at = 0; at < file.size();) {
    const auto type = all.number<uint32_t>(at), bytes = all.number<uint32_t>(at + 4);
    if (bytes < 12 || bytes % 4 != 0 || at + bytes > file.size() ||
        all.number<uint32_t>(at + bytes - 4) != bytes)
      throw std::runtime_error("a block's lengths");
    blocks.push_back({type, file.substr(at + 8, bytes - 12)});
    at += bytes;
  }
  return blocks;
}

struct ReadPacket {
  std::string interface, bytes, comment;
  uint64_t time_ns = 0, lost = 0;
  uint32_t length = 0, flags = 0;
};
struct ReadInterface {
  std::string name;
  uint16_t link_type = 0;
  uint64_t received = 0, dropped = 0;  // of its statistics
  bool counted = false;
};
struct ReadFile {
  std::vector<ReadInterface> interfaces;
  std::vector<ReadPacket> packets;
  std::vector<ReadPacket> at(const std::string& interface) const {
    std::vector<ReadPacket> some;
    for (const ReadPacket& packet : packets)
      if (packet.interface == interface) some.push_back(packet);
    return some;
  }
};

inline uint64_t number_of(const std::string& bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

inline ReadFile read_pcapng(const std::string& file) {
  ReadFile out;
  for (const PcapngBlock& block : pcapng_blocks(file)) {
    if (block.type == 1) {
      auto options = block.options(8);
      out.interfaces.push_back({options[2], block.number<uint16_t>(0), 0, 0, false});
    } else if (block.type == 5) {
      auto options = block.options(12);
      ReadInterface& interface = out.interfaces.at(block.number<uint32_t>(0));
      interface.received = number_of(options[4]);
      interface.dropped = number_of(options[5]);
      interface.counted = true;
    } else if (block.type == 6) {
      const auto captured = block.number<uint32_t>(12);
      auto options = block.options(20 + (captured + 3u) / 4 * 4);
      ReadPacket packet;
      packet.interface = out.interfaces.at(block.number<uint32_t>(0)).name;
      packet.time_ns = uint64_t{block.number<uint32_t>(4)} << 32 | block.number<uint32_t>(8);
      packet.length = block.number<uint32_t>(16);
      packet.bytes = block.body.substr(20, captured);
      packet.comment = options[1];
      packet.flags = static_cast<uint32_t>(number_of(options[2]));
      packet.lost = number_of(options[4]);
      out.packets.push_back(packet);
    }
  }
  return out;
}

}  // namespace hecto::router::test
