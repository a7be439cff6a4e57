#define ALLOW_EXPERIMENTAL_API  // rte_vect_set_max_simd_bitwidth() of 22.11
#include "router/dataplane/filter/acl_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/bytes.hpp"
#include "router/dataplane/core/dpdk_acl.hpp"
#include "router/dataplane/filter/key.hpp"

namespace hecto::router {
namespace {

using lookup::Family;

// Fields of a key as rte_acl is to read them, in order; a rule has one value for each.
enum class FieldOf : uint8_t {
  kProtocol,
  kFromClass,
  kToClass,
  kAddress,  // a word of it
  kSourcePort,
  kDestinationPort,
  kTcpFlags,
  kState,
  kDscp,
  kUnused,
  kLength,
  kInterface,
  kMark
};
struct Field {
  FieldOf of;
  bool destination = false;  // of kAddress
  uint8_t word = 0;          // likewise
};

// What a context's keys are made of: four bytes that no rule asks for are left out.
class FieldPlan {
 public:
  FieldPlan(Family family, uint32_t needs) {
    if (family == Family::kIpv4)
      lay<FilterKey4>(needs);
    else
      lay<FilterKey6>(needs);
  }
  const std::vector<Field>& fields() const { return fields_; }
  const std::vector<rte_acl_field_def>& definitions() const { return definitions_; }

 private:
  template <typename Key>
  void lay(uint32_t needs) {
    constexpr size_t kWords = sizeof(Key::source) / 4;
    add({FieldOf::kProtocol}, RTE_ACL_FIELD_TYPE_BITMASK, 1, 0);
    if (needs & kNeedClasses) {
      begin();
      add({FieldOf::kFromClass}, RTE_ACL_FIELD_TYPE_RANGE, 2, offsetof(Key, classes));
      add({FieldOf::kToClass}, RTE_ACL_FIELD_TYPE_RANGE, 2, offsetof(Key, classes) + 2);
    }
    const auto address = [&](uint32_t first, bool destination, size_t offset) {
      for (uint8_t word = 0; word < kWords; ++word, first <<= 1) {
        if ((needs & first) == 0) continue;
        begin();
        add({FieldOf::kAddress, destination, word}, RTE_ACL_FIELD_TYPE_MASK, 4,
            offset + word * size_t{4});
      }
    };
    address(kNeedSource, false, offsetof(Key, source));
    address(kNeedDestination, true, offsetof(Key, destination));
    if (needs & kNeedPorts) {
      begin();
      add({FieldOf::kSourcePort}, RTE_ACL_FIELD_TYPE_RANGE, 2, offsetof(Key, ports));
      add({FieldOf::kDestinationPort}, RTE_ACL_FIELD_TYPE_RANGE, 2, offsetof(Key, ports) + 2);
    }
    if (needs & kNeedBits) {
      begin();
      add({FieldOf::kTcpFlags}, RTE_ACL_FIELD_TYPE_BITMASK, 1, offsetof(Key, tcp_flags));
      add({FieldOf::kState}, RTE_ACL_FIELD_TYPE_BITMASK, 1, offsetof(Key, state));
      add({FieldOf::kDscp}, RTE_ACL_FIELD_TYPE_BITMASK, 1, offsetof(Key, dscp));
      add({FieldOf::kUnused}, RTE_ACL_FIELD_TYPE_BITMASK, 1, offsetof(Key, pad_bits));
    }
    if (needs & kNeedSizes) {
      begin();
      add({FieldOf::kLength}, RTE_ACL_FIELD_TYPE_RANGE, 2, offsetof(Key, length));
      add({FieldOf::kInterface}, RTE_ACL_FIELD_TYPE_RANGE, 2, offsetof(Key, interface));
    }
    if (needs & kNeedMark) {
      begin();
      add({FieldOf::kMark}, RTE_ACL_FIELD_TYPE_MASK, 4, offsetof(Key, mark));
    }
  }
  void begin() { ++input_; }
  void add(Field field, unsigned type, unsigned bytes, size_t offset) {
    definitions_.push_back({static_cast<uint8_t>(type), static_cast<uint8_t>(bytes),
                            static_cast<uint8_t>(fields_.size()), input_,
                            static_cast<uint32_t>(offset)});
    fields_.push_back(field);
  }

  uint8_t input_ = 0;
  std::vector<Field> fields_;
  std::vector<rte_acl_field_def> definitions_;
};

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

rte_acl_field value_of(const Field& field, const Entry& entry) {
  rte_acl_field out{};
  const auto range = [&](Span16 span) {
    out.value.u16 = span.first;
    out.mask_range.u16 = span.last;
  };
  const auto bits = [&](MaskedByte of) {
    out.value.u8 = of.value;
    out.mask_range.u8 = of.mask;
  };
  const RuleWords& words = *entry.words;
  switch (field.of) {
    case FieldOf::kProtocol:
      bits(entry.protocol);
      break;
    case FieldOf::kFromClass:
      range(entry.from_class);
      break;
    case FieldOf::kToClass:
      range(entry.to_class);
      break;
    case FieldOf::kSourcePort:
      range(entry.source);
      break;
    case FieldOf::kDestinationPort:
      range(entry.destination);
      break;
    case FieldOf::kTcpFlags:
      bits(words.tcp);
      break;
    case FieldOf::kState:
      bits(words.state);
      break;
    case FieldOf::kDscp:
      bits(words.dscp);
      break;
    case FieldOf::kUnused:
      break;
    case FieldOf::kLength:
      range(words.length);
      break;
    case FieldOf::kInterface:
      range(entry.interface);
      break;
    case FieldOf::kMark:
      out.value.u32 = words.mark.value_or(0);
      out.mask_range.u32 = words.mark ? 32 : 0;
      break;
    case FieldOf::kAddress: {
      const lookup::IpPrefix* const prefix = field.destination ? words.to : words.from;
      const unsigned before = field.word * 32u;
      if (prefix == nullptr || prefix->length <= before) break;
      out.value.u32 = load32_be(prefix->address.bytes.data() + field.word * 4u);
      out.mask_range.u32 = std::min(prefix->length - before, 32u);
      break;
    }
  }
  return out;
}

// rte_acl takes rules of any number of fields as bytes.
class RuleBatch {
 public:
  RuleBatch(rte_acl_ctx* context, const FieldPlan& plan)
      : context_(context), plan_(plan), words_((rule_bytes(plan) + 7) / 8 * kAtOnce) {}
  static uint32_t rule_bytes(const FieldPlan& plan) {
    return static_cast<uint32_t>(RTE_ACL_RULE_SZ(plan.fields().size()));
  }
  int add(const Entry& entry, uint32_t rule) {
    auto* const at = reinterpret_cast<uint8_t*>(words_.data()) + size_t{count_} * rule_bytes(plan_);
    rte_acl_rule_data data{};
    data.category_mask = 1;
    data.priority = static_cast<int32_t>(RTE_ACL_MAX_PRIORITY - rule);
    data.userdata = rule + 1;
    std::memcpy(at, &data, sizeof data);
    uint8_t* field_at = at + offsetof(rte_acl_rule, field);
    for (const Field& field : plan_.fields()) {
      const rte_acl_field value = value_of(field, entry);
      std::memcpy(field_at, &value, sizeof value);
      field_at += sizeof value;
    }
    return ++count_ == kAtOnce ? flush() : 0;
  }
  int flush() {
    if (count_ == 0) return 0;
    const auto* const rules = reinterpret_cast<const rte_acl_rule*>(words_.data());
    return rte_acl_add_rules(context_, rules, std::exchange(count_, 0));
  }

 private:
  static constexpr unsigned kAtOnce = 64;
  rte_acl_ctx* const context_;
  const FieldPlan& plan_;
  std::vector<uint64_t> words_;
  unsigned count_ = 0;
};

// The widest that there is. DPDK's own bound of vectors (256 bits, unless it is told) is for drivers.
const char* choose_algorithm(rte_acl_ctx* context) {
  struct Algorithm {
    enum rte_acl_classify_alg number;
    const char* name;
  };
  static constexpr Algorithm kAlgorithms[] = {{RTE_ACL_CLASSIFY_AVX512X32, "avx512x32"},
                                              {RTE_ACL_CLASSIFY_AVX512X16, "avx512x16"},
                                              {RTE_ACL_CLASSIFY_AVX2, "avx2"},
                                              {RTE_ACL_CLASSIFY_SSE, "sse"},
                                              {RTE_ACL_CLASSIFY_NEON, "neon"}};
  const uint16_t before = rte_vect_get_max_simd_bitwidth();
  rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
  const char* chosen = "scalar";
  for (const Algorithm& each : kAlgorithms) {
    if (rte_acl_set_ctx_classify(context, each.number) != 0) continue;
    chosen = each.name;
    break;
  }
  rte_vect_set_max_simd_bitwidth(before);
  return chosen;
}

uint64_t heap_bytes(int socket) {
  rte_malloc_socket_stats stats{};
  return rte_malloc_get_socket_stats(socket, &stats) == 0 ? stats.heap_allocsz_bytes : 0;
}

std::string of_whom(const AclContext::Order& order, uint64_t rules, uint64_t entries) {
  return fmt::format("filter {}: {} rules of {} ({} entries)", order.filter, rules,
                     order.family == Family::kIpv4 ? "IPv4" : "IPv6", entries);
}

std::string megabytes(uint64_t bytes) {
  return fmt::format("{} MB", (bytes + 999'999) / 1'000'000);
}

}  // namespace

Result<std::shared_ptr<const AclContext>> AclContext::build(const Order& order) {
  uint64_t entries = 0, rules = 0;
  uint32_t needs = 0;
  for (const RuleWords& each : order.rules) {
    const uint64_t of_rule = each.entries();
    if (of_rule == 0) continue;
    entries += of_rule;
    needs |= each.needs();
    ++rules;
    if (entries > kMostEntries) break;
  }
  const std::string whom = of_whom(order, rules, entries);
  if (entries > kMostEntries)
    return fail(
        fmt::format("filter {}: its first {} rules are more than {} entries: lists of ports, and "
                    "sets that overlap, multiply",
                    order.filter, rules, kMostEntries));
  const uint64_t to_build = entries * kBuildBytesAnEntry;
  if (order.free_bytes != 0 && to_build > order.free_bytes)
    return fail(fmt::format("{} take up to {} while they are built, and there are {}", whom,
                            megabytes(to_build), megabytes(order.free_bytes)));
  const FieldPlan plan(order.family, needs);
  static std::atomic<uint64_t> number{0};
  const std::string name = fmt::format("hecto-filter-{}", number.fetch_add(1));
  rte_acl_param param{};
  param.name = name.c_str();
  param.socket_id = order.socket;
  param.rule_size = RuleBatch::rule_bytes(plan);
  param.max_rule_num = static_cast<uint32_t>(entries);
  const uint64_t before = heap_bytes(order.socket);
  const std::shared_ptr<AclContext> made(new AclContext);
  made->context_ = rte_acl_create(&param);
  const auto no_room = [&](uint64_t bytes) {
    return fail(fmt::format("{} find no room on socket {}: DPDK has no {} more", whom, order.socket,
                            megabytes(bytes)));
  };
  if (made->context_ == nullptr) return no_room(entries * param.rule_size);
  RuleBatch batch(made->context_, plan);
  int error = 0;
  for (uint32_t rule = 0; rule < order.rules.size() && error == 0; ++rule)
    each_entry(order.rules[rule], [&](const Entry& entry) {
      if (error == 0) error = batch.add(entry, rule);
    });
  if (error == 0) error = batch.flush();
  if (error != 0) return fail(fmt::format("{}: {}", whom, dpdk_error(error)), -error);
  rte_acl_config config{};
  config.num_categories = 1;
  config.num_fields = static_cast<uint32_t>(plan.definitions().size());
  std::ranges::copy(plan.definitions(), config.defs);
  config.max_size = order.most_bytes;
  error = rte_acl_build(made->context_, &config);
  if (error == -ERANGE)
    return fail(
        fmt::format("{} take more than the {} that they may", whom, megabytes(order.most_bytes)));
  if (error == -ENOMEM) return no_room(entries * (param.rule_size + kBuildBytesAnEntry / 10));
  if (error != 0) return fail(fmt::format("{}: {}", whom, dpdk_error(error)), -error);
  made->algorithm_ = choose_algorithm(made->context_);
  made->needs_ = needs;
  made->print_ = order.print;
  made->socket_ = order.socket;
  const uint64_t after = heap_bytes(order.socket);
  made->bytes_ = after > before ? after - before : 0;
  return made;
}

AclContext::~AclContext() {
  rte_acl_free(context_);
}

}  // namespace hecto::router
