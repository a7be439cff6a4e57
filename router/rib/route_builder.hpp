// Collects the entries of a route file while it is parsed. Used by the parsers only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "router/rib/route_file.hpp"

namespace hecto::router {

class RouteBuilder {
 public:
  // `options` must outlive the builder.
  RouteBuilder(const RouteFileOptions& options, RouteFileFormat format, std::string label);

  bool has_via() const { return !options_.via.empty(); }
  uint32_t add_set(std::vector<NextHop> next_hops);
  const std::vector<NextHop>& set(uint32_t index) const { return file_.table.next_hop_sets[index]; }
  uint32_t set_of_gateway(const IpAddress& gateway);
  void add(const IpPrefix& prefix, uint32_t next_hop_set) {
    auto& entries = file_.table.entries;
    if (entries.size() < entries.capacity() || make_room())
      entries.push_back({prefix, next_hop_set});
  }
  // By `via`; `text` is what the choice hashes. False where no gateway fits the family.
  bool add_by_via(const IpPrefix& prefix, std::string_view text);
  bool repeats_last(const IpPrefix& prefix) const {
    return !file_.table.entries.empty() && file_.table.entries.back().prefix == prefix;
  }
  void skip(std::string problem);
  // What is malformed: refuses the file, or notes the problem and lets the parser go on.
  Result<void> bad_line(size_t line, const std::string& what);
  Result<void> bad_byte(size_t offset, const std::string& what);
  // At most so many are to come: room for the first of them.
  void expect(size_t entries);
  // No memory is left to the request: nothing is taken in any more, and finish() refuses.
  bool starved() const { return starved_; }
  Result<RouteFile> finish();

 private:
  Result<void> bad(std::string problem, std::string refusal);
  bool reserve(size_t bytes);
  bool make_room();

  const RouteFileOptions& options_;
  std::string label_;
  RouteFile file_;
  std::vector<uint32_t> via4_, via6_;  // sets to choose from
  std::map<IpAddress, uint32_t> gateways_;
  bool starved_ = false;
};

}  // namespace hecto::router
