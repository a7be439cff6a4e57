#include "router/control/filter_job.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <unordered_set>
#include <utility>

#include "router/dataplane/ports/eal.hpp"
#include "router/process/privileges/privileges.hpp"

namespace hecto::router {
namespace {

constexpr size_t kToldRules = 10'000;

size_t rules_of(const config::FiltersConfig& config) {
  size_t rules = 0;
  for (const config::FilterConfig& filter : config.filters) rules += filter.rules.size();
  return rules;
}

using Words = std::unordered_set<std::string>;

// False: it is not in, or stands in the set's own file.
Result<void> take_out(config::PrefixSetConfig& set, const std::vector<lookup::IpPrefix>& remove,
                      Words& in, const Words& in_file) {
  Words gone;
  for (const lookup::IpPrefix& prefix : remove) {
    const std::string words = prefix.to_string();
    if (in_file.contains(words))
      return fail(fmt::format("set {}: {} stands in {}: take it out there and reload", set.name,
                              words, set.file));
    if (in.erase(words) == 0)
      return fail(fmt::format("set {}: {} is not in it", set.name, words), ENOENT);
    gone.insert(words);
  }
  std::erase_if(set.prefixes, [&gone](const lookup::IpPrefix& prefix) {
    return !gone.empty() && gone.contains(prefix.to_string());
  });
  return {};
}

// Of two lists what is in one of them alone.
template <typename Each>
std::vector<Each> differing(std::vector<Each> a, std::vector<Each> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<Each> out;
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(out));
  return out;
}

}  // namespace

std::vector<InterfaceId> InterfaceNames::ids(const std::string& name) const {
  if (const auto found = interfaces.find(name); found != interfaces.end()) return {found->second};
  const auto found = members.find(name);
  return found == members.end() ? std::vector<InterfaceId>{} : found->second;
}

FilterSurroundings InterfaceNames::surroundings() const {
  FilterSurroundings around;
  around.interface = [this](const std::string& name) {
    const auto found = interfaces.find(name);
    return found == interfaces.end() ? kNoInterface : found->second;
  };
  around.members = [this](const std::string& vrf) {
    const auto found = members.find(vrf);
    return found == members.end() ? std::vector<InterfaceId>{} : found->second;
  };
  around.port = [this](const std::string& name) {
    const auto found = ports.find(name);
    return found == ports.end() ? kNoPort : found->second;
  };
  around.table = [this](const config::FilterRuleConfig& rule) {
    if (!rule.vrf.empty()) {
      const auto vrf = vrfs.find(rule.vrf);
      return vrf == vrfs.end() ? std::nullopt : vrf->second.fib;
    }
    const auto table = tables.find(rule.table);
    return table == tables.end() ? std::nullopt : table->second.fib;
  };
  around.vlans = vlans;
  return around;
}

std::vector<InterfaceId> AskedNames::changed(const InterfaceNames& now) const {
  std::vector<InterfaceId> out;
  for (const auto& [name, ids] : interfaces)
    for (const InterfaceId id : differing(ids, now.ids(name))) out.push_back(id);
  if (vlans)
    for (const auto& [id, tag] : differing(names.vlans, now.vlans)) out.push_back(id);
  return out;
}

void FilterJob::ask_names() {
  const auto ask = [this](const std::string& name) {
    if (!name.empty() && !asked_.interfaces.contains(name))
      asked_.interfaces.emplace(name, names_.ids(name));
  };
  for (const config::FilterConfig& filter : wanted_->filters)
    for (const config::FilterRuleConfig& rule : filter.rules) {
      ask(rule.iif);
      asked_.vlans |= !rule.vlans.empty();
    }
  for (const config::PolicerConfig& policer : wanted_->policers) {
    std::ranges::for_each(policer.in, ask);
    std::ranges::for_each(policer.out, ask);
  }
  asked_.names = names_;
}

RuleFacts facts_of(const config::FiltersConfig& filters) {
  RuleFacts facts;
  std::unordered_set<uint32_t> tables;
  std::unordered_set<std::string> vrfs;
  for (uint32_t f = 0; f < filters.filters.size(); ++f) {
    const std::vector<config::FilterRuleConfig>& rules = filters.filters[f].rules;
    for (uint32_t r = 0; r < rules.size(); ++r) {
      const config::FilterRuleConfig& rule = rules[r];
      facts.marks |= rule.set_mark.has_value();
      if (rule.log) facts.logged.emplace_back(f, r);
      if (rule.table == 0 && rule.vrf.empty()) continue;
      const bool fresh =
          rule.vrf.empty() ? tables.insert(rule.table).second : vrfs.insert(rule.vrf).second;
      if (fresh) facts.tables.push_back({rule.table, rule.vrf});
    }
  }
  return facts;
}

// A thread that threw would take the router with it.
void FilterJob::run() {
  try {
    make();
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& thrown) {
    made_ = fail(fmt::format("filters: {} rules: {}", rules_of(*wanted_), thrown.what()), ENOMEM);
  }
}

void FilterJob::make() {
  if (change_) {
    if (auto changed = change_set(); !changed) {
      made_ = tl::unexpected(changed.error());
      return;
    }
  }
  const auto begun = std::chrono::steady_clock::now();
  const size_t rules = rules_of(*wanted_);
  const bool told = rules >= kToldRules && !change_;
  if (told) spdlog::info("filters: {} rules are compiled", rules);
  ask_names();
  FilterSurroundings around = names_.surroundings();
  around.log = log_;
  around.sockets = sockets_;
  around.threads = threads_;
  around.free_bytes = available_memory_bytes() / 2;
  made_ = compile_(*wanted_, around, before_.get());
  if (!told || !made_) return;
  const auto took = std::chrono::steady_clock::now() - begun;
  spdlog::info("filters: compiled in {} ms",
               std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
}

// What a set has by the file's own lines and the API; what stands in a file of its own only that has.
Result<void> FilterJob::change_set() {
  const FilterSetChange& change = *change_;
  const auto changed = std::make_shared<config::FiltersConfig>(*wanted_);
  const auto found = std::ranges::find(changed->sets, change.set, &config::PrefixSetConfig::name);
  if (found == changed->sets.end())
    return fail(
        fmt::format("set {}: there is none of that name under sets in {}", change.set, file_),
        ENOENT);
  static const std::vector<lookup::IpPrefix> kNone;
  const std::vector<lookup::IpPrefix>& of_file = found->of_file ? *found->of_file : kNone;
  // By their words: sets are long and changes may be, and nobody waits for their product.
  Words asked, in_file, in;
  for (const auto* list : {&change.add, &change.remove})
    for (const lookup::IpPrefix& prefix : *list) asked.insert(prefix.to_string());
  for (const lookup::IpPrefix& prefix : of_file)
    if (std::string words = prefix.to_string(); asked.contains(words)) in_file.insert(words);
  for (const lookup::IpPrefix& prefix : found->prefixes) in.insert(prefix.to_string());
  for (const lookup::IpPrefix& prefix : change.add) {
    const std::string words = prefix.to_string();
    if (!in_file.contains(words) && in.insert(words).second) found->prefixes.push_back(prefix);
  }
  if (auto done = take_out(*found, change.remove, in, in_file); !done) return done;
  set_size_ = of_file.size() + found->prefixes.size();
  wanted_ = changed;
  return {};
}

FilterJobThread::FilterJobThread(std::shared_ptr<FilterJob> job)
    : job_(std::move(job)), thread_([this] { run(); }) {}

FilterJobThread::~FilterJobThread() {
  thread_.join();
}

void FilterJobThread::run() {
  confine_service();  // a child of control's, with no more than who asks for a reload has
  job_->run();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
}

bool FilterJobThread::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return ended_.load(); });
}

}  // namespace hecto::router
