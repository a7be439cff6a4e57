#include "router/control/filter_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>
#include <utility>

#include "router/control/filter_leads.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/running.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

constexpr size_t kToldRules = 10'000;

}  // namespace

void FilterControl::Job::run() {
  size_t rules = 0;
  for (const config::FilterConfig& filter : wanted_.filters) rules += filter.rules.size();
  if (rules >= kToldRules && !same_rules_)
    spdlog::info("filters: {} rules are compiled; that takes from a second to minutes", rules);
  FilterSurroundings surroundings;
  surroundings.interface = [this](const std::string& name) {
    const auto found = names_.interfaces.find(name);
    return found == names_.interfaces.end() ? kNoInterface : found->second;
  };
  surroundings.members = [this](const std::string& vrf) {
    const auto found = names_.members.find(vrf);
    return found == names_.members.end() ? std::vector<InterfaceId>{} : found->second;
  };
  surroundings.table = [this](const config::FilterRuleConfig& rule) {
    if (!rule.vrf.empty()) {
      const auto vrf = names_.vrfs.find(rule.vrf);
      return vrf == names_.vrfs.end() ? std::nullopt : vrf->second.fib;
    }
    const auto table = names_.tables.find(rule.table);
    return table == names_.tables.end() ? std::nullopt : table->second.fib;
  };
  surroundings.vlans = names_.vlans;
  surroundings.sockets = sockets_;
  surroundings.threads = threads_;
  surroundings.free_bytes = available_memory_bytes() / 2;
  made_ = FilterTables::compile(wanted_, surroundings, before_.get());
}

FilterNames FilterControl::names(const config::FiltersConfig& wanted) const {
  FilterNames names = table_names(wanted, routing_);
  for (const auto& [id, state] : routing_.interfaces().all()) {
    names.interfaces[state.name] = id;
    if (state.tags.count() > 0) names.vlans.emplace_back(id, state.tags.first());
    if (const Vrf vrf = routing_.interfaces().vrf_of(state); vrf.table != 0)
      names.members[vrf.name].push_back(id);
  }
  return names;
}

std::shared_ptr<FilterControl::Job> FilterControl::make_job(
    const config::FiltersConfig& wanted) const {
  auto job = std::make_shared<Job>();
  job->wanted_ = wanted;
  job->names_ = names(wanted);
  job->sockets_ = running_.placement.sockets;
  job->threads_ = static_cast<unsigned>(running_.placement.workers.size() + 1);
  job->before_ = state_.tables;
  job->same_rules_ = wanted.filters == state_.followed.filters;
  return job;
}

std::shared_ptr<FilterControl::Job> FilterControl::job(const config::FiltersConfig& wanted) const {
  return wanted == state_.file || wanted.empty() ? nullptr : make_job(wanted);
}

void FilterControl::put_back(State state) {
  state_ = std::move(state);
  gives_marks_ = some_rule_marks(state_.followed);
  interfaces_version_ = 0;  // they may be others than then
  plane_.set_filters(state_.tables);
}

Result<void> FilterControl::use(const Job& job) {
  if (!job.made_) return tl::unexpected(job.made_.error());
  state_.tables = *job.made_;
  state_.followed = job.wanted_;
  state_.names = job.names_;
  gives_marks_ = some_rule_marks(state_.followed);
  plane_.set_filters(state_.tables);
  return {};
}

Result<void> FilterControl::follow(const config::Config& config) {
  const std::shared_ptr<Job> offered = std::exchange(offered_, nullptr);
  if (config.filters.empty()) {
    if (state_.tables == nullptr) return {};
    put_back({});
    trouble_.clear();
    return {};
  }
  if (config.filters == state_.file) {
    tick();
    return trouble_.empty() ? Result<void>{} : fail(trouble_);
  }
  // Interfaces that came meanwhile are bound below; slots of rules are shared, so none counts anew.
  std::shared_ptr<Job> job = offered;
  if (job == nullptr || !(job->wanted_ == config.filters)) {
    job = make_job(config.filters);
    job->run();
  }
  if (auto used = use(*job); !used) return used;
  state_.file = config.filters;
  interfaces_version_ = 0;
  tick();
  return trouble_.empty() ? Result<void>{} : fail(trouble_);
}

void FilterControl::tick() {
  if (state_.tables == nullptr) return;
  const uint64_t version = routing_.interfaces().version();
  const bool same = std::exchange(interfaces_version_, version) == version;
  if (same && (!leads() || routing_.tables_without_room() == without_room_)) return;
  without_room_ = routing_.tables_without_room();
  if (names(state_.followed) == state_.names) return;
  const std::shared_ptr<Job> job = make_job(state_.followed);
  job->run();
  const std::string before = std::exchange(trouble_, std::string());
  if (auto used = use(*job); !used) {
    trouble_ = used.error().message + "; interfaces that came are not filtered";
    interfaces_version_ = 0;  // the next turn tries again
    if (trouble_ != before) spdlog::error(trouble_);
  }
}

// What a set has by the file's own lines and the API; what stands in a file of its own only that has.
Result<size_t> FilterControl::change_set(const SetChange& change) {
  config::FiltersConfig wanted = state_.followed;
  const auto found = std::find_if(wanted.sets.begin(), wanted.sets.end(),
                                  [&](const auto& each) { return each.name == change.set; });
  if (found == wanted.sets.end())
    return fail(fmt::format("set {}: there is none of that name under sets in {}", change.set,
                            running_.config.file),
                ENOENT);
  if (state_.tables == nullptr)
    return fail(fmt::format("set {}: there are no filters that could name it", change.set));
  static const std::vector<lookup::IpPrefix> kNone;
  const std::vector<lookup::IpPrefix>& of_file = found->of_file ? *found->of_file : kNone;
  // By their words: sets are long and changes may be, and control does not wait for their product.
  std::unordered_set<std::string> asked, in_file, in;
  for (const auto* list : {&change.add, &change.remove})
    for (const lookup::IpPrefix& prefix : *list) asked.insert(prefix.to_string());
  for (const lookup::IpPrefix& prefix : of_file)
    if (std::string words = prefix.to_string(); asked.contains(words)) in_file.insert(words);
  for (const lookup::IpPrefix& prefix : found->prefixes) in.insert(prefix.to_string());
  for (const lookup::IpPrefix& prefix : change.add) {
    const std::string words = prefix.to_string();
    if (!in_file.contains(words) && in.insert(words).second) found->prefixes.push_back(prefix);
  }
  std::unordered_set<std::string> gone;
  for (const lookup::IpPrefix& prefix : change.remove) {
    const std::string words = prefix.to_string();
    if (in_file.contains(words))
      return fail(fmt::format("set {}: {} stands in {}: take it out there and reload", change.set,
                              words, found->file));
    if (in.erase(words) == 0)
      return fail(fmt::format("set {}: {} is not in it", change.set, words), ENOENT);
    gone.insert(words);
  }
  std::erase_if(found->prefixes, [&gone](const lookup::IpPrefix& prefix) {
    return !gone.empty() && gone.contains(prefix.to_string());
  });
  const size_t size = of_file.size() + found->prefixes.size();
  const std::shared_ptr<Job> job = make_job(wanted);
  job->run();
  if (auto used = use(*job); !used) return tl::unexpected(used.error());
  plane_.publish_changes();
  return size;
}

void FilterControl::sampled(std::chrono::steady_clock::time_point now) {
  if (state_.tables == nullptr) {
    rates_.clear();
    counted_.clear();
    return;
  }
  const double seconds = std::chrono::duration<double>(now - sampled_).count();
  sampled_ = now;
  std::vector<std::vector<uint64_t>> counted;
  for (const FilterStatus& filter : state_.tables->status()) {
    std::vector<uint64_t>& packets = counted.emplace_back();
    for (const auto& rule : filter.rules) packets.push_back(rule.count.packets);
    packets.push_back(filter.otherwise.packets);
  }
  // After a change nothing can be said for a second.
  rates_.clear();
  if (counted.size() == counted_.size())
    for (size_t f = 0; f < counted.size(); ++f) {
      std::vector<double>& rates = rates_.emplace_back();
      if (counted[f].size() != counted_[f].size()) continue;
      for (size_t r = 0; r < counted[f].size(); ++r)
        rates.push_back(counted[f][r] < counted_[f][r]
                            ? 0
                            : static_cast<double>(counted[f][r] - counted_[f][r]) / seconds);
    }
  counted_ = std::move(counted);
}

double FilterControl::rate(size_t filter, size_t rule) const {
  return filter < rates_.size() && rule < rates_[filter].size() ? rates_[filter][rule] : 0;
}

std::vector<std::string> FilterControl::lines() const {
  std::vector<std::string> all;
  if (!trouble_.empty()) all.push_back(trouble_);
  if (state_.tables == nullptr) return all;
  for (const FilterStatus& filter : state_.tables->status())
    for (const std::string& note : filter.notes)
      all.push_back(fmt::format("filter {}: {}", filter.name, note));
  for (const PolicerStatus& policer : state_.tables->policers())
    if (!policer.note.empty())
      all.push_back(fmt::format("policer {}: {}", policer.name, policer.note));
  for (size_t i = 0; i < state_.followed.filters.size(); ++i)
    for (const std::string& note : table_notes(i))
      all.push_back(fmt::format("filter {}: {}", state_.followed.filters[i].name, note));
  return all;
}

}  // namespace hecto::router
