#include "router/control/filter_control.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "router/control/filter_leads.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/running.hpp"
#include "router/dataplane/filter/filter_views.hpp"
#include "router/process/service/service_manager.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstSaid = 2s, kSaidAgain = 10s, kAsksForTime = 1s;

}  // namespace

FilterControl::FilterControl(const Running& running, Routing& routing, ForwardingPlane& plane,
                             const ServiceManager* service, FilterJob::Compile compile)
    : running_(running),
      routing_(routing),
      plane_(plane),
      service_(service),
      compile_(std::move(compile)) {}

FilterControl::~FilterControl() = default;

// ---- What is compiled elsewhere ----

InterfaceNames FilterControl::names(const RuleFacts& rules) const {
  InterfaceNames names = table_names(rules, routing_);
  for (const auto& [id, state] : routing_.interfaces().all()) {
    names.interfaces[state.name] = id;
    const bool whole = state.tags == VlanTags{} && state.parent == kNoInterface;
    if (whole && state.port != kNoPort) names.ports[state.name] = state.port;
    if (state.tags.count() > 0) names.vlans.emplace_back(id, state.tags.first());
    if (const Vrf vrf = routing_.interfaces().vrf_of(state); vrf.table != 0)
      names.members[vrf.name].push_back(id);
  }
  return names;
}

const config::FiltersConfig& FilterControl::config() const {
  static const config::FiltersConfig kNone;
  return state_.followed ? *state_.followed : kNone;
}

std::shared_ptr<FilterJob> FilterControl::make_job(FilterJob::Config wanted) const {
  auto job = std::make_shared<Job>();
  job->compile_ = compile_;
  job->wanted_ = std::move(wanted);
  job->facts_ = job->wanted_ == state_.followed
                    ? state_.facts
                    : std::make_shared<const RuleFacts>(facts_of(*job->wanted_));
  job->names_ = names(*job->facts_);
  job->sockets_ = running_.placement.sockets;
  job->threads_ = static_cast<unsigned>(running_.placement.workers.size() + 1);
  job->before_ = state_.tables;
  job->before_config_ = state_.followed;
  if (!job->facts_->logged.empty()) job->log_ = log_->taps(job->threads_);
  return job;
}

std::shared_ptr<FilterJob> FilterControl::job(const config::FiltersConfig& wanted) const {
  if (wanted.empty() || (state_.file && wanted == *state_.file)) return nullptr;
  return make_job(std::make_shared<config::FiltersConfig>(wanted));
}

// What is there already is told by the names that it came by.
void FilterControl::name_for_log() {
  log_->write(FilterLog::Clock::now());
  FilterLog::Names names;
  for (const auto& [name, id] : state_.names.interfaces) names.interfaces[id.value()] = name;
  if (state_.tables != nullptr)
    for (const auto& [f, r] : state_.facts->logged) {
      const config::FilterConfig& filter = config().filters[f];
      names.rules[state_.tables->views(0).filters[f].actions[r + 1].slot] =
          fmt::format("filter {} rule {}", filter.name, config::name_of(filter, r));
    }
  log_->use(std::move(names));
}

std::optional<std::string> FilterControl::trouble_of(size_t filter) const {
  const auto& rules = config().filters[filter].rules;
  const bool samples = std::ranges::any_of(rules, [](const auto& r) { return r.sample != 0; });
  if (!samples || !running_.config.sflow.collectors.empty()) return std::nullopt;
  return "sample: sflow has no collectors, so nothing is sampled";
}

Result<void> FilterControl::use(const Job& job) {
  if (!job.made_) return tl::unexpected(job.made_.error());
  state_.tables = *job.made_;
  state_.followed = job.wanted_;
  state_.facts = job.facts_;
  state_.names = job.names_;
  state_.asked = job.asked_;
  interfaces_version_ = 0;  // others may have come meanwhile
  compiled();
  name_for_log();
  plane_.set_filters(state_.tables);
  return {};
}

void FilterControl::put_back(State state) {
  state_ = std::move(state);
  interfaces_version_ = 0;  // they may be others than then
  compiled();
  stale_ = !state_.asked.hold_for(state_.names);  // what was compiled for them meanwhile is lost
  name_for_log();
  plane_.set_filters(state_.tables);
}

// ---- The file's ----

Result<void> FilterControl::start(const config::Config& config) {
  const std::shared_ptr<Job> wanted = job(config.filters);
  if (wanted == nullptr) return {};
  std::optional<FilterJobThread> thread;
  try {
    thread.emplace(wanted);
  } catch (const std::system_error& no_thread) {
    return fail(fmt::format("filters: no thread to compile them: {}", no_thread.what()), EAGAIN);
  }
  const auto begun = Clock::now();
  auto say = begun + kFirstSaid;
  while (!thread->wait_for(kAsksForTime)) {
    if (service_ != nullptr) service_->tell("EXTEND_TIMEOUT_USEC=30000000");
    if (Clock::now() < say) continue;
    say = Clock::now() + kSaidAgain;
    spdlog::info("filters: they are compiled, since {} s; before nothing is forwarded",
                 std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begun).count());
  }
  offer(wanted);
  return follow(config);
}

Result<void> FilterControl::follow(const config::Config& config) {
  const std::shared_ptr<Job> offered = std::exchange(offered_, nullptr);
  std::optional<State> kept = std::exchange(kept_, std::nullopt);
  if (config.filters.empty()) {
    if (state_.tables != nullptr) put_back({});
    return {};
  }
  if (state_.file && config.filters == *state_.file) {
    tick();
    return {};
  }
  if (kept && kept->file && *kept->file == config.filters) {
    put_back(std::move(*kept));
    tick();
    return {};
  }
  if (offered == nullptr || !(*offered->wanted_ == config.filters))
    return fail("filters: others run than when they were compiled: try again", EAGAIN);
  if (auto used = use(*offered); !used) return used;
  state_.file = offered->wanted_;
  tick();
  return {};
}

// ---- Interfaces that come and go ----

void FilterControl::tick() {
  take_compiled();
  if (state_.tables == nullptr) return;
  const uint64_t version = routing_.interfaces().version();
  const bool same = std::exchange(interfaces_version_, version) == version;
  if (same && (!leads() || routing_.tables_without_room() == without_room_)) return;
  without_room_ = routing_.tables_without_room();
  if (const InterfaceNames now = names(*state_.facts); now != state_.names || stale_) bind(now);
}

// Rules that ask for an interface hold by its number: where a name has another one now, or none, what comes
// in by either has to wait till they are compiled for it. Tables that rules lead to stay what they were.
void FilterControl::bind(const InterfaceNames& now) {
  FilterSurroundings around = now.surroundings();
  around.barred = state_.asked.changed(now);
  std::vector<std::string> waiting;
  for (const auto& [name, id] : now.interfaces)
    if (std::ranges::count(around.barred, id) != 0) waiting.push_back(name);
  state_.tables = state_.tables->bound(*state_.followed, around);
  state_.names = now;
  name_for_log();
  plane_.set_filters(state_.tables);
  if (state_.asked.hold_for(now)) return compiled();
  stale_ = true;
  waiting_ = std::move(waiting);
  compile();
}

void FilterControl::compiled() {
  stale_ = false;
  waiting_.clear();
  trouble_.clear();
  again_.reset();
}

void FilterControl::compile() {
  if (thread_) return;  // when it ends, it is seen that that was for others
  try {
    thread_ = std::make_unique<FilterJobThread>(make_job(state_.followed));
    again_.reset();
  } catch (const std::system_error& no_thread) {
    cannot(no_thread.what());
  }
}

void FilterControl::take_compiled() {
  if (!thread_ || !thread_->ended()) return;
  const std::shared_ptr<Job> job = thread_->job();
  thread_.reset();
  // Meanwhile a reload may have brought others.
  if (state_.tables == nullptr || job->wanted_ != state_.followed)
    interfaces_version_ = 0;
  else if (auto used = use(*job); !used)
    cannot(used.error().message);
}

// Tried again at its time, and not each turn; interfaces that have come since are seen as ever.
void FilterControl::cannot(const std::string& why) {
  again_ = Clock::now() + kAgain;
  std::string now = why;
  if (!waiting_.empty())
    now += fmt::format("; what comes in by {} is dropped as filter_not_ready",
                       fmt::join(waiting_, ", "));
  if (!state_.asked.same_tables(state_.names))
    now += "; rules that name tables or VRFs lead to those that were there before";
  const std::string before = std::exchange(trouble_, now);
  if (trouble_ != before) spdlog::error(trouble_);
}

// ---- Sets ----

std::shared_ptr<FilterJob> FilterControl::change_job(SetChange change) const {
  static const auto kNone = std::make_shared<const config::FiltersConfig>();
  auto job = make_job(state_.followed ? state_.followed : kNone);
  job->change_ = std::move(change);
  job->file_ = running_.config.file;
  return job;
}

Result<size_t> FilterControl::take_change(const std::shared_ptr<Job>& done) {
  if (!done->made_) return tl::unexpected(done->made_.error());
  if (done->before_config_ != state_.followed)
    return fail(
        fmt::format("set {}: filters were changed meanwhile: try again", done->change_->set),
        EAGAIN);
  if (auto used = use(*done); !used) return tl::unexpected(used.error());
  tick();
  plane_.publish_changes();
  return done->set_size_;
}

// ---- What is seen ----

void FilterControl::sampled(Clock::time_point now) {
  rates_.sample(state_.tables, now);
  if (again_ && now >= *again_) interfaces_version_ = 0;
}

std::vector<std::string> FilterControl::lines() const {
  std::vector<std::string> all;
  if (!trouble_.empty()) all.push_back(trouble_);
  for (size_t f = 0; state_.tables != nullptr && f < state_.tables->filters(); ++f) {
    const std::string name = state_.tables->filter_name(unsigned(f + 1));
    for (const std::string& note : state_.tables->notes(f))
      all.push_back(fmt::format("filter {}: {}", name, note));
    if (const auto trouble = trouble_of(f))
      all.push_back(fmt::format("filter {}: {}", name, *trouble));
  }
  if (state_.tables == nullptr) return all;
  for (const PolicerStatus& policer : state_.tables->policers())
    if (!policer.note.empty())
      all.push_back(fmt::format("policer {}: {}", policer.name, policer.note));
  for (size_t i = 0; i < config().filters.size(); ++i)
    for (const std::string& note : table_notes(i))
      all.push_back(fmt::format("filter {}: {}", config().filters[i].name, note));
  return all;
}

}  // namespace hecto::router
