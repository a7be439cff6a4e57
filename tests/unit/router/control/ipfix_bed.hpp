// A collector of IPFIX that reads what it gets.
#pragma once

#include "router/control/flow_control.hpp"
#include "tests/unit/router/control/samples_bed.hpp"
#include "tests/unit/router/ipfix/decoder.hpp"

namespace hecto::router::test {

inline constexpr uint16_t kPackets = 2, kOctets = 1, kEndReason = 136, kStatus = 89;

class IpfixTest : public SamplesBed {
 protected:
  IpfixTest() : table_(bed_->interfaces.table(), bed_->routing, bed_->plane, bed_->notes) {
    control_->attach(table_);
  }
  void ipfix(const std::string& keys, const std::string& more = {}) {
    config_ = read(std::string(kSampledPorts) + more + "ipfix: {collectors: [127.0.0.1:" +
                   std::to_string(udp_port_) + "]" + keys + "}\n");
  }
  // Records of flows that came since the last call; options are kept.
  std::vector<IpfixDecoder::Record> records() {
    std::vector<IpfixDecoder::Record> all;
    for (const Bytes& bytes : datagrams()) {
      EXPECT_LE(bytes.size(), kMostIpfixMessage_bytes);
      const auto message = decoder_.decode(bytes);
      EXPECT_EQ(message.sequence, sequence_);
      sequence_ += static_cast<uint32_t>(message.records.size());
      templates_ += message.templates;
      for (const auto& record : message.records)
        if (record.id != 261) (record.id == 260 ? options_ : all).push_back(record);
    }
    return all;
  }
  void ticks(unsigned count, Clock::duration each) {
    for (unsigned i = 0; i < count; ++i) tick(each);
  }

  FlowControl table_;
  IpfixDecoder decoder_;
  uint32_t sequence_ = 0;
  unsigned templates_ = 0;
  std::vector<IpfixDecoder::Record> options_;
};

}  // namespace hecto::router::test
