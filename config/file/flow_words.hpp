// Entries of the flow table in words: of the API's bodies, of bulk loads and of `hecto flow`, all the same.
//
//   from 10.0.0.1 to 10.0.0.2 protocol udp sport 1 dport 2 priority 10 idle_s 60 output b0 mac 02:00:00:00:00:09
//
// Errors say which word, what was seen and what would be right. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/file/flows.hpp"

namespace hecto::config {

template <typename T>
using FlowParsed = tl::expected<T, std::string>;

// One entry of an API's body or a line, word by word, then checked as a whole.
class FlowReader {
 public:
  enum class Part : uint8_t { kMatch, kEntry, kAction };  // of a body; a line has all of them

  FlowParsed<void> put(std::string_view key, std::string_view value);
  static bool knows(std::string_view key, Part part);
  static bool takes_value(std::string_view key);  // accept and drop stand alone
  static std::string known(Part part);            // "from, to, ..."
  // For a deletion the actions are not asked for.
  FlowParsed<FlowConfig> finish(bool needs_action = true);

 private:
  FlowParsed<void> put_match(std::string_view key, std::string_view value);
  FlowParsed<void> put_action(std::string_view key, std::string_view value);

  FlowConfig flow_;
  bool has_family_ = false, has_verdict_ = false;
};

FlowParsed<FlowConfig> parse_flow(std::string_view line, bool needs_action = true);

// Key and value of all that it says, in order; what has its default is left out.
struct FlowWord {
  FlowReader::Part part;
  std::string key, value;
};
std::vector<FlowWord> words_of(const FlowConfig& flow);
std::string to_string(const FlowConfig& flow);  // as parse_flow() reads it

}  // namespace hecto::config
