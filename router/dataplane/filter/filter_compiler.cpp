#include "router/dataplane/filter/filter_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/filter/filter_places.hpp"
#include "router/dataplane/filter/lead_state.hpp"
#include "router/dataplane/filter/rule_words.hpp"
#include "router/dataplane/filter/take_policers.hpp"
#include "router/dataplane/filter/telling.hpp"

namespace hecto::router {
namespace {

using config::FilterConfig;
using config::FilterRuleConfig;
using config::FiltersConfig;
using lookup::Family;
using Context = std::shared_ptr<const RuleContext>;

// All that a rule says, in a filter of that name.
Fingerprint print_of(const std::string& filter, const FilterRuleConfig& rule) {
  Fingerprint print;
  print.add(filter);
  print.add(rule.name);
  print.add(static_cast<uint64_t>(rule.family));
  for (const config::FilterEnd* end : {&rule.from, &rule.to}) {
    print.add(end->set);
    print.add(end->prefix ? end->prefix->length + 1u : 0u);
    if (!end->prefix) continue;
    const auto& bytes = end->prefix->address.bytes;
    print.add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    print.add(static_cast<uint64_t>(end->prefix->address.family));
  }
  print.add(rule.protocol);
  for (const auto* ports : {&rule.sources, &rule.destinations}) {
    print.add(ports->size());
    for (const config::PortSpan& span : *ports) print.add(uint64_t{span.first} << 16 | span.last);
  }
  print.add(uint64_t{rule.tcp_mask} << 8 | rule.tcp_set);
  for (const auto* span : {&rule.icmp_type, &rule.icmp_code, &rule.length})
    print.add(*span ? (uint64_t{(*span)->first} << 32 | (*span)->last) + 1 : 0);
  print.add(uint64_t{rule.icmp_both} << 8 | static_cast<uint64_t>(rule.fragments));
  print.add(rule.iif);
  print.add(rule.vlans.size());
  for (const config::PortSpan& span : rule.vlans) print.add(uint64_t{span.first} << 16 | span.last);
  for (const auto* word : {&rule.mark, &rule.set_mark}) print.add(*word ? **word + uint64_t{1} : 0);
  for (const auto* dscp : {&rule.dscp, &rule.set_dscp}) print.add(*dscp ? **dscp + uint64_t{1} : 0);
  print.add(static_cast<uint64_t>(rule.verdict));
  print.add(rule.police);
  print.add(rule.table);
  print.add(rule.vrf);
  print.add(rule.log);
  print.add(rule.sample);
  print.add(rule.mirror);
  return print;
}

Reason reason_of(config::FilterVerdict verdict) {
  switch (verdict) {
    case config::FilterVerdict::kAccept:
      return Reason::kNone;
    case config::FilterVerdict::kDrop:
      return Reason::kFilter;
    case config::FilterVerdict::kReject:
      break;
  }
  return Reason::kFilterRejected;
}

std::string called(const FilterRuleConfig& rule, size_t index) {
  return rule.name.empty() ? std::to_string(index + 1) : rule.name;
}

// One compilation. Each step fails and leaves nothing behind.
class FilterCompiler {
 public:
  FilterCompiler(const FiltersConfig& config, const FilterSurroundings& around,
                 const FilterState* before, FilterState& out)
      : config_(config), around_(around), before_(before), out_(out) {}

  Result<void> run() {
    out_.sockets = around_.sockets.empty() ? std::vector<int>{0} : around_.sockets;
    out_.views.resize(out_.sockets.size());
    const unsigned threads = std::max(around_.threads, 1u);
    const bool same_threads = before_ != nullptr && before_->slots->threads() >= threads;
    out_.slots = same_threads ? before_->slots : std::make_shared<CounterSlots>(threads);
    const auto known = [this] {
      auto made = std::make_shared<FilterState::Known>();
      made->counters = out_.slots;
      return made;
    };
    out_.barrier = known();
    for (size_t i = 0; i < config_.filters.size(); ++i) out_.filters.push_back(known());
    // Behind those of the file the one that lets nothing pass.
    for (FilterViews& views : out_.views) views.filters.resize(config_.filters.size() + 1);
    using Step = Result<void> (FilterCompiler::*)();
    for (const Step step : {&FilterCompiler::resolve_names, &FilterCompiler::take_all_policers,
                            &FilterCompiler::take_slots, &FilterCompiler::read_actions,
                            &FilterCompiler::build_contexts})
      if (auto done = (this->*step)(); !done) return done;
    for (FilterViews& views : out_.views)
      for (unsigned thread = 0; thread < out_.slots->threads(); ++thread)
        views.pages.push_back(out_.slots->pages(thread));
    bind_filters(config_, around_, out_);
    return {};
  }

 private:
  Result<void> resolve_names() {
    std::vector<config::PrefixSetConfig> named;
    const auto name_set = [&](const std::string& set) {
      if (set.empty() || names_.classes.contains(set)) return;
      names_.classes[set];
      const auto found = std::ranges::find(config_.sets, set, &config::PrefixSetConfig::name);
      if (found != config_.sets.end()) named.push_back(*found);
    };
    const auto name_interface = [&](const std::string& interface) {
      if (interface.empty() || names_.interfaces.contains(interface)) return;
      std::vector<InterfaceId>& ids = names_.interfaces[interface];
      const InterfaceId id = around_.interface ? around_.interface(interface) : kNoInterface;
      if (id != kNoInterface)
        ids = {id};
      else if (around_.members)
        ids = around_.members(interface);
    };
    for (const FilterConfig& filter : config_.filters)
      for (const FilterRuleConfig& rule : filter.rules) {
        name_set(rule.from.set);
        name_set(rule.to.set);
        name_interface(rule.iif);
      }
    names_.vlans = around_.vlans;
    std::ranges::sort(named, {}, &config::PrefixSetConfig::name);
    if (names_.classes.empty()) return {};
    auto built = PrefixClasses::build(std::move(named), out_.sockets,
                                      before_ != nullptr ? before_->sets : nullptr);
    if (!built) return tl::unexpected(built.error());
    names_.sets = out_.sets = std::move(*built);
    for (auto& entry : names_.classes) entry.second = out_.sets->ranges(entry.first);
    for (size_t i = 0; i < out_.sockets.size(); ++i) {
      out_.views[i].classes4 = out_.sets->view4(out_.sockets[i]);
      out_.views[i].classes6 = out_.sets->view6(out_.sockets[i]);
    }
    return {};
  }

  Result<void> take_all_policers() {
    if (auto taken = take_policers(config_, around_, before_, out_); !taken) return taken;
    for (size_t i = 0; i < out_.policed.size(); ++i)
      policed_[{config_.policers[out_.policed[i].policer].name, out_.policed[i].numbers->set()}] =
          static_cast<uint16_t>(i);
    return {};
  }

  // Of each rule that says the same the slot it had; where there are several such, in order.
  Result<void> take_slots() {
    std::unordered_map<Fingerprint, std::vector<uint32_t>, FingerprintHash> had;
    if (before_ != nullptr)
      for (const auto& filter : before_->filters)
        for (size_t i = filter->slots.size(); i-- > 0;)
          had[filter->prints[i]].push_back(filter->slots[i]);
    const bool same_pages = before_ != nullptr && before_->slots == out_.slots;
    const auto take = [&](FilterState::Known& known, const Fingerprint& print) -> Result<void> {
      const auto found = had.find(print);
      const bool has = found != had.end() && !found->second.empty();
      const uint32_t old = has ? found->second.back() : 0;
      if (has) found->second.pop_back();
      uint32_t slot = old;
      if (has && same_pages) {
        out_.slots->keep(slot);
      } else {
        auto taken = out_.slots->take();
        if (!taken) return tl::unexpected(taken.error());
        slot = *taken;
        if (has) out_.slots->begin_with(slot, before_->slots->count(old));
      }
      known.slots.push_back(slot);
      known.prints.push_back(print);
      return {};
    };
    Fingerprint barrier;
    barrier.add(std::string_view("barrier"));
    if (before_ != nullptr) had[barrier] = before_->barrier->slots;
    if (auto taken = take(*out_.barrier, barrier); !taken) return taken;
    for (size_t i = 0; i < config_.filters.size(); ++i) {
      const FilterConfig& filter = config_.filters[i];
      FilterState::Known& known = *out_.filters[i];
      known.name = filter.name;
      Fingerprint none;
      none.add(filter.name);
      if (auto taken = take(known, none); !taken) return taken;
      for (const FilterRuleConfig& rule : filter.rules) {
        if (auto taken = take(known, print_of(filter.name, rule)); !taken) return taken;
        known.rules.push_back(rule.name);
      }
    }
    return {};
  }

  Result<void> read_actions() {
    bool marks = false, gives = false, leads = false;
    FilterAction barred;
    barred.slot = out_.barrier->slots[0];
    barred.reason = Reason::kFilterNotReady;
    for (FilterViews& views : out_.views) {
      views.filters.back().actions = {barred};
      views.filters.back().plain = false;
    }
    for (size_t i = 0; i < config_.filters.size(); ++i) {
      const FilterConfig& filter = config_.filters[i];
      FilterState::Known& known = *out_.filters[i];
      FilterView view;
      FilterAction otherwise;
      otherwise.slot = known.slots[0];
      otherwise.reason = reason_of(filter.otherwise);
      view.actions.push_back(otherwise);
      for (size_t r = 0; r < filter.rules.size(); ++r) {
        const FilterRuleConfig& rule = filter.rules[r];
        auto action = action_of(rule, filter.name, called(rule, r));
        if (!action) return tl::unexpected(action.error());
        action->slot = known.slots[r + 1];
        marks |= rule.mark.has_value() || rule.set_mark.has_value();
        gives |= rule.set_mark.has_value();
        leads |= (action->beside & FilterAction::kTable) != 0;
        if (action->reason == Reason::kFilterNoTable)
          known.notes.push_back(fmt::format("rule {}: {}", called(rule, r), no_table_words(rule)));
        view.actions.push_back(*action);
        if (add_telling(rule, static_cast<uint32_t>(r + 1), around_, view, known.mirrors))
          out_.log = around_.log;
      }
      if (!view.tellings.empty()) view.tellings.resize(view.actions.size());
      view.plain = std::ranges::all_of(view.actions, &FilterAction::plain);
      for (FilterViews& views : out_.views) views.filters[i] = view;
    }
    for (FilterViews& views : out_.views) views.log = out_.log.get();
    if (leads || gives)
      if (auto done = add_leads(out_, before_, leads); !done) return done;
    if (!marks) return {};
    const auto mark = register_filter_mark();
    if (!mark) return tl::unexpected(mark.error());
    for (FilterViews& views : out_.views) views.mark = *mark;
    return {};
  }

  Result<FilterAction> action_of(const FilterRuleConfig& rule, const std::string& filter,
                                 const std::string& name) const {
    FilterAction action;
    action.reason = reason_of(rule.verdict);
    if (action.reason != Reason::kNone) return action;
    const bool leads = rule.table != 0 || !rule.vrf.empty();
    const auto table = leads && around_.table ? around_.table(rule) : std::nullopt;
    if (leads && !table) {
      action.reason = Reason::kFilterNoTable;
      return action;
    }
    const auto beside = [&](FilterAction::Beside bit) {
      action.beside = static_cast<uint8_t>(action.beside | bit);
    };
    if (table) {
      action.table = *table;
      beside(FilterAction::kTable);
    }
    if (rule.set_mark) {
      action.mark = *rule.set_mark;
      beside(FilterAction::kMark);
    }
    if (rule.set_dscp) {
      action.dscp = *rule.set_dscp;
      beside(FilterAction::kDscp);
    }
    if (rule.police.empty()) return action;
    const auto found =
        std::ranges::find(config_.policers, rule.police, &config::PolicerConfig::name);
    if (found == config_.policers.end())
      return fail(
          fmt::format("filter {}: rule {}: there is no policer {}", filter, name, rule.police));
    if (found->each != config::PoliceEach::kNone) {
      const auto policed = policed_.find({found->name, policed_end(rule, found->each)});
      if (policed == policed_.end())
        return fail(fmt::format("filter {}: rule {}: policer {} has each, and there is no set",
                                filter, name, rule.police));
      action.policer = policed->second;
      beside(FilterAction::kEach);
      return action;
    }
    action.policer = static_cast<uint16_t>(found - config_.policers.begin());
    beside(FilterAction::kPolice);
    return action;
  }

  Result<void> build_contexts() {
    for (size_t i = 0; i < config_.filters.size(); ++i) {
      const FilterConfig& filter = config_.filters[i];
      std::vector<RuleWords> words[2];
      for (const Family family : {Family::kIpv4, Family::kIpv6}) {
        std::vector<RuleWords>& of = words[family == Family::kIpv6];
        of.reserve(filter.rules.size());
        for (const FilterRuleConfig& rule : filter.rules)
          of.push_back(words_of(rule, family, names_));
      }
      note_never(filter, words, out_.filters[i]->notes);
      for (const Family family : {Family::kIpv4, Family::kIpv6})
        if (auto built = build(i, family, words[family == Family::kIpv6]); !built) return built;
    }
    return {};
  }

  static void note_never(const FilterConfig& filter, const std::vector<RuleWords> (&words)[2],
                         std::vector<std::string>& notes) {
    for (size_t r = 0; r < filter.rules.size(); ++r) {
      const RuleWords &four = words[0][r], &six = words[1][r];
      if (four.entries() + six.entries() > 0) continue;
      const std::string& why = four.by_family ? six.never : four.never;
      const bool empty = four.by_family && six.by_family;
      notes.push_back(fmt::format("rule {} never holds: {}", called(filter.rules[r], r),
                                  empty ? "its sets have no prefixes of its family" : why));
    }
  }

  Result<void> build(size_t filter, Family family, const std::vector<RuleWords>& words) {
    Fingerprint print;
    print.add(static_cast<uint64_t>(family));
    bool some = false;
    for (uint32_t r = 0; r < words.size(); ++r) {
      if (words[r].entries() == 0) continue;
      some = true;
      print.add(r);
      words[r].add_to(print);
    }
    if (!some) return {};
    FilterState::Known& known = *out_.filters[filter];
    std::vector<Context> contexts;
    for (const int socket : out_.sockets)
      if (Context context = find(print, socket)) contexts.push_back(std::move(context));
    if (contexts.size() < out_.sockets.size()) {
      RuleContext::Order order;
      order.filter = known.name;
      order.family = family;
      order.rules = words;
      order.sockets = out_.sockets;
      order.print = print;
      order.free_bytes = around_.free_bytes;
      auto built = RuleContext::build(order);
      if (!built) return tl::unexpected(built.error());
      contexts = std::move(*built);
      out_.built += static_cast<unsigned>(contexts.size());
    }
    note_alike(*contexts[0], family, known.notes);
    for (size_t s = 0; s < contexts.size(); ++s) {
      FilterView& view = out_.views[s].filters[filter];
      const Context& context = contexts[s];
      if (family == Family::kIpv4)
        view.ipv4 = {&context->tree4(), context->needs()};
      else
        view.ipv6 = {&context->tree6(), context->needs()};
      known.contexts.push_back(context);
    }
    return {};
  }

  static void note_alike(const RuleContext& context, Family family,
                         std::vector<std::string>& notes) {
    constexpr size_t kMany = 1000;
    if (context.longest_leaf() < kMany) return;
    notes.push_back(
        fmt::format("rules of {} are much alike: a packet may be compared with {} of them",
                    family == Family::kIpv4 ? "IPv4" : "IPv6", context.longest_leaf()));
  }

  Context find(const Fingerprint& print, int socket) const {
    for (const FilterState* state : {before_, static_cast<const FilterState*>(&out_)}) {
      if (state == nullptr) continue;
      for (const auto& filter : state->filters)
        for (const Context& context : filter->contexts)
          if (context->print() == print && context->socket() == socket) return context;
    }
    return nullptr;
  }

  const FiltersConfig& config_;
  const FilterSurroundings& around_;
  const FilterState* const before_;
  FilterState& out_;
  FilterNames names_;
  std::map<std::pair<std::string, std::string>, uint16_t> policed_;  // by policer and set
};

}  // namespace

Result<void> compile_filters(const FiltersConfig& config, const FilterSurroundings& around,
                             const FilterState* before, FilterState& out) {
  return FilterCompiler(config, around, before, out).run();
}

}  // namespace hecto::router
