#include "router/control/filter_control.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "router/control/forwarding_plane.hpp"
#include "router/control/running.hpp"
#include "router/process/service/service_manager.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstSaid = 2s, kSaidAgain = 10s, kAsksForTime = 1s;

// Of two lists what is in one of them alone.
std::vector<InterfaceId> differing(std::vector<InterfaceId> a, std::vector<InterfaceId> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<InterfaceId> out;
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(out));
  return out;
}

}  // namespace

FilterControl::FilterControl(const Running& running, const Routing& routing, ForwardingPlane& plane,
                             const ServiceManager* service, FilterJob::Compile compile)
    : running_(running),
      routing_(routing),
      plane_(plane),
      service_(service),
      compile_(std::move(compile)) {}

FilterControl::~FilterControl() = default;

// ---- What is compiled elsewhere ----

InterfaceNames FilterControl::names() const {
  InterfaceNames names;
  for (const auto& [id, state] : routing_.interfaces().all()) {
    names.interfaces[state.name] = id;
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
  job->names_ = names();
  job->sockets_ = running_.placement.sockets;
  job->threads_ = static_cast<unsigned>(running_.placement.workers.size() + 1);
  job->before_ = state_.tables;
  job->before_config_ = state_.followed;
  return job;
}

std::shared_ptr<FilterJob> FilterControl::job(const config::FiltersConfig& wanted) const {
  if (wanted.empty() || (state_.file && wanted == *state_.file)) return nullptr;
  return make_job(std::make_shared<config::FiltersConfig>(wanted));
}

Result<void> FilterControl::use(const Job& job) {
  if (!job.made_) return tl::unexpected(job.made_.error());
  state_.tables = *job.made_;
  state_.followed = job.wanted_;
  state_.names = job.names_;
  state_.asked = job.asked_;
  interfaces_version_ = 0;  // others may have come meanwhile
  compiled();
  plane_.set_filters(state_.tables);
  return {};
}

void FilterControl::put_back(State state) {
  state_ = std::move(state);
  interfaces_version_ = 0;  // they may be others than then
  compiled();
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
  if (std::exchange(interfaces_version_, version) == version) return;
  if (const InterfaceNames now = names(); now != state_.names || stale_) bind(now);
}

// Rules that ask for an interface hold by its number: where a name has another one now, or none, what comes
// in by either has to wait till they are compiled for it.
void FilterControl::bind(const InterfaceNames& now) {
  FilterSurroundings around = now.surroundings();
  for (const auto& [name, ids] : state_.asked)
    for (const InterfaceId id : differing(ids, now.ids(name))) around.barred.push_back(id);
  std::vector<std::string> waiting;
  for (const auto& [name, id] : now.interfaces)
    if (std::ranges::count(around.barred, id) != 0) waiting.push_back(name);
  state_.tables = state_.tables->bound(*state_.followed, around);
  state_.names = now;
  plane_.set_filters(state_.tables);
  if (around.barred.empty()) return compiled();
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
  interfaces_version_ = 0;
  // Meanwhile a reload may have brought others.
  if (state_.tables == nullptr || job->wanted_ != state_.followed) return;
  if (auto used = use(*job); !used) cannot(used.error().message);
}

void FilterControl::cannot(const std::string& why) {
  interfaces_version_ = routing_.interfaces().version();  // not each turn
  again_ = Clock::now() + kAgain;
  const std::string before =
      std::exchange(trouble_, fmt::format("{}; what comes in by {} is dropped as filter_not_ready",
                                          why, fmt::join(waiting_, ", ")));
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
  for (size_t f = 0; state_.tables != nullptr && f < state_.tables->filters(); ++f)
    for (const std::string& note : state_.tables->notes(f))
      all.push_back(
          fmt::format("filter {}: {}", state_.tables->filter_name(unsigned(f + 1)), note));
  return all;
}

}  // namespace hecto::router
