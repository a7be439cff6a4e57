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
    file_.table.entries.push_back({prefix, next_hop_set});
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
  void reserve(size_t entries) { file_.table.entries.reserve(entries); }
  RouteFile finish() { return std::move(file_); }

 private:
  Result<void> bad(std::string problem, std::string refusal);

  const RouteFileOptions& options_;
  std::string label_;
  RouteFile file_;
  std::vector<uint32_t> via4_, via6_;  // sets to choose from
  std::map<IpAddress, uint32_t> gateways_;
};

}  // namespace hecto::router
