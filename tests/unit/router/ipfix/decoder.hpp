// A collector's half of IPFIX, written from RFC 7011 and from nothing of hecto's: it reads every byte of a
// message and refuses what the RFC does not have.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace hecto::router::test {

class IpfixDecoder {
 public:
  using Bytes = std::vector<uint8_t>;
  struct Record {
    uint16_t id = 0;  // of its template
    std::map<uint16_t, Bytes> values;
    uint64_t number(uint16_t element) const {
      uint64_t value = 0;
      for (const uint8_t byte : values.at(element)) value = value << 8 | byte;
      return value;
    }
  };
  struct Message {
    uint32_t seconds = 0, sequence = 0, domain = 0;
    unsigned templates = 0;
    std::vector<Record> records;
  };
  struct Template {
    unsigned scopes = 0;
    std::vector<std::pair<uint16_t, uint16_t>> fields;  // element, bytes
  };

  Message decode(std::span<const uint8_t> bytes) {
    Reader in{bytes};
    Message message;
    expect(in.number(2) == 10, "version");
    expect(in.number(2) == bytes.size(), "length of the message");
    message.seconds = static_cast<uint32_t>(in.number(4));
    message.sequence = static_cast<uint32_t>(in.number(4));
    message.domain = static_cast<uint32_t>(in.number(4));
    while (in.left() > 0) {
      const auto id = static_cast<uint16_t>(in.number(2));
      const size_t length = in.number(2);
      expect(length > 4, "a set is not empty");
      Reader set{in.take(length - 4)};
      if (id == 2 || id == 3)
        read_templates(set, id == 3, message);
      else
        read_data(set, id, message);
    }
    return message;
  }
  const std::map<uint16_t, Template>& templates() const { return templates_; }

 private:
  struct Reader {
    std::span<const uint8_t> bytes;
    size_t left() const { return bytes.size(); }
    std::span<const uint8_t> take(size_t count) {
      expect(count <= bytes.size(), "cut");
      const auto taken = bytes.first(count);
      bytes = bytes.subspan(count);
      return taken;
    }
    uint64_t number(size_t count) {
      uint64_t value = 0;
      for (const uint8_t byte : take(count)) value = value << 8 | byte;
      return value;
    }
  };
  static void expect(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
  }
  // Shorter than any record, and zeros (RFC 7011 §3.3.1).
  static void expect_padding(Reader& set) {
    for (const uint8_t byte : set.take(set.left())) expect(byte == 0, "padding");
  }

  void read_templates(Reader& set, bool options, Message& message) {
    while (set.left() >= 4) {
      const auto id = static_cast<uint16_t>(set.number(2));
      expect(id >= 256, "number of a template");
      const size_t count = set.number(2);
      Template made;
      if (options) made.scopes = static_cast<unsigned>(set.number(2));
      expect(count > 0 && made.scopes <= count && (!options || made.scopes > 0), "scopes");
      for (size_t i = 0; i < count; ++i) {
        const auto element = static_cast<uint16_t>(set.number(2));
        expect((element & 0x8000) == 0, "an element of an enterprise");
        const auto bytes = static_cast<uint16_t>(set.number(2));
        expect(bytes > 0 && bytes < 65535, "length of a field");
        made.fields.emplace_back(element, bytes);
      }
      templates_[id] = made;
      ++message.templates;
    }
    expect_padding(set);
  }

  void read_data(Reader& set, uint16_t id, Message& message) {
    expect(templates_.count(id) == 1, "a set without a template");
    const Template& of = templates_.at(id);
    size_t bytes = 0;
    for (const auto& field : of.fields) bytes += field.second;
    expect(set.left() >= bytes, "a set without a record");
    while (set.left() >= bytes) {
      Record record;
      record.id = id;
      for (const auto& [element, count] : of.fields) {
        const auto value = set.take(count);
        record.values[element] = Bytes(value.begin(), value.end());
      }
      message.records.push_back(std::move(record));
    }
    expect_padding(set);
  }

  std::map<uint16_t, Template> templates_;
};

}  // namespace hecto::router::test
