#include "router/dataplane/filter/rule_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/bytes.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/filter/tree_builder.hpp"

namespace hecto::router {
namespace {

using lookup::Family;

// One of each list of a rule's words.
struct Entry {
  const RuleWords* words = nullptr;
  MaskedByte protocol;
  Span16 from_class, to_class, source, destination;
  Span16 interface;
};

template <typename Emit>
void each_entry(const RuleWords& words, Emit&& emit) {
  if (!words.never.empty()) return;
  const auto one_of = [](const std::vector<Span16>& spans, auto&& go_on) {
    if (spans.empty()) return go_on(Span16{});
    for (const Span16& span : spans) go_on(span);
  };
  Entry entry;
  entry.words = &words;
  const auto ports = [&] {
    one_of(words.sources, [&](Span16 source) {
      entry.source = source;
      one_of(words.destinations, [&](Span16 destination) {
        entry.destination = destination;
        emit(entry);
      });
    });
  };
  const auto classes = [&] {
    one_of(words.from_classes, [&](Span16 from) {
      entry.from_class = from;
      one_of(words.to_classes, [&](Span16 to) {
        entry.to_class = to;
        ports();
      });
    });
  };
  const auto interfaces = [&] {
    if (words.interfaces.empty()) return classes();
    for (const InterfaceId id : words.interfaces) {
      entry.interface = {uint16_t{id}, uint16_t{id}};
      classes();
    }
  };
  if (words.protocols.empty()) return interfaces();
  for (const uint8_t protocol : words.protocols) {
    entry.protocol = {protocol, 0xff};
    interfaces();
  }
}

TreeWord spans(Span16 high, Span16 low) {
  return {uint32_t{high.first} << 16 | low.first, uint32_t{high.last} << 16 | low.last};
}

template <unsigned AddressBytes>
TreeRule<AddressBytes> rule_of(const Entry& entry, uint32_t number) {
  using Rule = TreeRule<AddressBytes>;
  const RuleWords& words = *entry.words;
  Rule rule;
  rule.rule = number;
  rule.words[Rule::kProtocol] = {uint32_t{entry.protocol.value} << 24,
                                 uint32_t{entry.protocol.mask} << 24};
  rule.words[Rule::kClasses] = spans(entry.from_class, entry.to_class);
  const auto put = [&rule](const lookup::IpPrefix* prefix, unsigned first) {
    for (unsigned word = 0; prefix != nullptr && word * 32 < prefix->length; ++word) {
      const unsigned bits = std::min(prefix->length - word * 32, 32u);
      const uint32_t mask = ~uint32_t{0} << (32 - bits);
      rule.words[first + word] = {load32_be(prefix->address.bytes.data() + word * 4u) & mask, mask};
    }
  };
  put(words.from, Rule::kSource);
  put(words.to, Rule::kDestination);
  rule.words[Rule::kPorts] = spans(entry.source, entry.destination);
  const auto bits = [&words](auto which) {
    return uint32_t{(words.tcp.*which)} << 24 | uint32_t{(words.state.*which)} << 16 |
           uint32_t{(words.dscp.*which)} << 8;
  };
  const uint32_t asked = bits(&MaskedByte::mask);
  rule.words[Rule::kBits] = {bits(&MaskedByte::value) & asked, asked};
  rule.words[Rule::kSizes] = spans(words.length, entry.interface);
  if (words.mark) rule.words[Rule::kMark] = {*words.mark, ~uint32_t{0}};
  return rule;
}

std::string of_whom(const RuleContext::Order& order, uint64_t rules, uint64_t entries) {
  return fmt::format("filter {}: {} rules of {} ({} entries)", order.filter, rules,
                     order.family == Family::kIpv4 ? "IPv4" : "IPv6", entries);
}

std::string megabytes(uint64_t bytes) {
  return fmt::format("{} MB", (bytes + 999'999) / 1'000'000);
}

}  // namespace

Result<RuleContext::Built> RuleContext::build(const Order& order) {
  uint64_t entries = 0, rules = 0;
  for (const RuleWords& each : order.rules) {
    const uint64_t of_rule = each.entries();
    if (of_rule == 0) continue;
    entries += of_rule;
    ++rules;
    if (entries > kMostEntries)
      return fail(
          fmt::format("filter {}: its first {} rules are more than {} entries: lists of "
                      "ports, and sets that overlap, multiply",
                      order.filter, rules, kMostEntries));
  }
  try {
    return order.family == Family::kIpv4 ? build_of<4>(order, entries, rules)
                                         : build_of<16>(order, entries, rules);
  } catch (const std::bad_alloc&) {
    return fail(of_whom(order, rules, entries) + " find no memory to be built in", ENOMEM);
  }
}

template <unsigned AddressBytes>
Result<RuleContext::Built> RuleContext::build_of(const Order& order, uint64_t entries,
                                                 uint64_t rules) {
  const uint64_t most_bytes = TreeBuilder<AddressBytes>::most_bytes(entries);
  if (order.free_bytes != 0 && most_bytes > order.free_bytes)
    return fail(fmt::format("{} may take {} while they are built, and {} are free",
                            of_whom(order, rules, entries), megabytes(most_bytes),
                            megabytes(order.free_bytes)),
                ENOMEM);
  std::vector<TreeRule<AddressBytes>> list;
  list.reserve(entries);
  uint32_t needs = 0;
  for (size_t rule = 0; rule < order.rules.size(); ++rule) {
    if (order.rules[rule].entries() == 0) continue;
    needs |= order.rules[rule].needs();
    each_entry(order.rules[rule], [&](const Entry& entry) {
      list.push_back(rule_of<AddressBytes>(entry, static_cast<uint32_t>(rule)));
    });
  }
  const auto tree = TreeBuilder<AddressBytes>::build(list);
  Built built;
  for (const int socket : order.sockets) {
    const std::shared_ptr<RuleContext> made(new RuleContext);
    made->bytes_ = tree.bytes();
    made->memory_ = rte_malloc_socket("hecto-filter", tree.bytes(), 64, socket);
    if (made->memory_ == nullptr)
      return fail(fmt::format("{} find no room on socket {}: DPDK's memory is full",
                              of_whom(order, rules, entries), socket),
                  ENOMEM);
    const auto placed = tree.placed(static_cast<uint8_t*>(made->memory_));
    if constexpr (AddressBytes == 4)
      made->tree4_ = placed;
    else
      made->tree6_ = placed;
    made->needs_ = needs;
    made->print_ = order.print;
    made->socket_ = socket;
    made->longest_leaf_ = tree.longest_leaf();
    built.push_back(made);
  }
  return built;
}

RuleContext::~RuleContext() {
  rte_free(memory_);
}

}  // namespace hecto::router
