#include "router/rib/route_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {

namespace {

constexpr size_t kMaxSkippedShown = 10;
constexpr size_t kMaxBadShown = 1000;
constexpr size_t kFirstRoom = 4096;    // entries
constexpr size_t kExpected = 1 << 20;  // entries: what is said to come may be blank lines
constexpr size_t kBytesOfASet = 192;   // with the keys that find it again

std::vector<NextHop> of_family(const std::vector<NextHop>& hops, Family family) {
  std::vector<NextHop> found;
  for (const NextHop& hop : hops) {
    if (!hop.gateway || hop.gateway->family == family) found.push_back(hop);
  }
  return found;
}

}  // namespace

RouteBuilder::RouteBuilder(const RouteFileOptions& options, RouteFileFormat format,
                           std::string label)
    : options_(options), label_(std::move(label)) {
  file_.format = format;
  std::vector<NextHop> hops4 = of_family(options.via, Family::kIpv4);
  std::vector<NextHop> hops6 = of_family(options.via, Family::kIpv6);
  if (hops4.empty()) hops4 = hops6;
  auto choices = [&](const std::vector<NextHop>& hops) {
    std::vector<uint32_t> sets;
    if (options.ecmp && !hops.empty()) {
      sets.push_back(add_set(hops));
    } else {
      for (const NextHop& hop : hops) sets.push_back(add_set({hop}));
    }
    return sets;
  };
  via4_ = choices(hops4);
  via6_ = choices(hops6);
}

bool RouteBuilder::reserve(size_t bytes) {
  if (options_.memory != nullptr && !options_.memory->grow(bytes)) starved_ = true;
  return !starved_;
}

// The old room goes once the entries have moved.
bool RouteBuilder::make_room() {
  auto& entries = file_.table.entries;
  const size_t room = std::max(kFirstRoom, entries.capacity() + entries.capacity() / 2);
  const size_t before = entries.capacity() * sizeof(RouteTable::Entry);
  if (starved_ || !reserve(room * sizeof(RouteTable::Entry))) return false;
  entries.reserve(room);
  if (options_.memory != nullptr) options_.memory->shrink(before);
  return true;
}

void RouteBuilder::expect(size_t entries) {
  const size_t room = std::min(entries, kExpected);
  if (reserve(room * sizeof(RouteTable::Entry))) file_.table.entries.reserve(room);
}

Result<RouteFile> RouteBuilder::finish() {
  if (starved_) return out_of_memory(label_);
  return std::move(file_);
}

uint32_t RouteBuilder::add_set(std::vector<NextHop> next_hops) {
  reserve(kBytesOfASet + next_hops.size() * sizeof(NextHop));
  file_.table.next_hop_sets.push_back(std::move(next_hops));
  return static_cast<uint32_t>(file_.table.next_hop_sets.size() - 1);
}

uint32_t RouteBuilder::set_of_gateway(const IpAddress& gateway) {
  auto [found, fresh] = gateways_.try_emplace(gateway);
  if (fresh) {
    NextHop hop;
    hop.gateway = gateway;
    found->second = add_set({hop});
  }
  return found->second;
}

bool RouteBuilder::add_by_via(const IpPrefix& prefix, std::string_view text) {
  const auto& choices = prefix.address.family == Family::kIpv4 ? via4_ : via6_;
  if (choices.empty()) return false;
  add(prefix, choices[fnv1a32(text) % choices.size()]);
  return true;
}

void RouteBuilder::skip(std::string problem) {
  if (++file_.skipped <= kMaxSkippedShown) file_.problems.push_back(std::move(problem));
}

Result<void> RouteBuilder::bad(std::string problem, std::string refusal) {
  if (!options_.skip_bad) return fail(std::move(refusal), EINVAL);
  if (++file_.bad <= kMaxBadShown) file_.problems.push_back(std::move(problem));
  return {};
}

Result<void> RouteBuilder::bad_line(size_t line, const std::string& what) {
  return bad(fmt::format("line {}: {}", line, what), fmt::format("{}:{}: {}", label_, line, what));
}

Result<void> RouteBuilder::bad_byte(size_t offset, const std::string& what) {
  return bad(fmt::format("byte {}: {}", offset, what),
             fmt::format("{}: byte {}: {}", label_, offset, what));
}

}  // namespace hecto::router
