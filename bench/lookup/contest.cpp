#include "bench/lookup/contest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/lib/destinations.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/stopwatch.hpp"
#include "bench/lookup/check.hpp"
#include "bench/lookup/dead_next_hop.hpp"
#include "bench/lookup/rte_memory.hpp"
#include "bench/lookup/updates.hpp"

namespace hecto::bench {
namespace {

constexpr double kLongLoad_s = 10;  // a load that takes longer is not repeated
constexpr uint64_t kDestinationSeed = 7, kUpdateSeed = 11;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <typename Family>
class FamilyContest {
 public:
  using Destination = typename Family::Destination;

  FamilyContest(const Contest& contest, LookupResult& result)
      : contest_(contest),
        options_(contest.options),
        routes_(contest.table.routes<Family>()),
        result_(result),
        passes_(options_.batch, contest.flush, contest.packets) {
    for (const Route<Family>& route : routes_) prefixes_.push_back(route.prefix);
  }

  Result<void> run() {
    if (routes_.empty())
      return fail(fmt::format("table {}: no IPv{} prefixes", contest_.table.name, Family::kNumber));
    if (auto done = load_all(); !done) return done;
    for (const auto kind : {Destinations::kUniform, Destinations::kInTable, Destinations::kZipf})
      if (auto done = look_up(kind); !done) return done;
    if (auto done = update(); !done) return done;
    auto row = kill_next_hop(routes_, options_.batch, options_.rounds);
    if (!row) return tl::unexpected(row.error());
    result_.dead_next_hop.push_back(*row);
    return {};
  }

 private:
  struct Entrant {
    std::string name;
    std::unique_ptr<Engine<Family>> engine;
  };

  Result<void> load_all() {
    for (const std::string& name : engine_names<Family>()) {
      if (contains(options_.without, name)) continue;
      if (!options_.engines.empty() && !contains(options_.engines, name)) continue;
      auto loaded = load(name);
      if (loaded) {
        engines_.push_back({name, std::move(*loaded)});
      } else if (loaded.error().error_number == ENOTSUP) {
        result_.skipped.push_back({name, loaded.error().message, cpu_runs(name)});
      } else {
        return tl::unexpected(loaded.error());
      }
    }
    if (engines_.empty()) return fail(fmt::format("no engine for IPv{}", Family::kNumber));
    return {};
  }

  Result<std::unique_ptr<Engine<Family>>> make(const std::string& name, unsigned changes) {
    return make_engine<Family>(name,
                               {static_cast<uint32_t>(routes_.size()), extension_nodes(routes_),
                                reserved_nodes(routes_), changes, options_.batch});
  }

  Result<void> add_all(const std::string& name, Engine<Family>& engine) {
    for (const Route<Family>& route : routes_)
      if (!engine.add(route.prefix, route.group))
        return fail(fmt::format("{} refuses {}", name, route.prefix.to_string()));
    engine.publish();
    return {};
  }

  // The last of the tables that were loaded.
  Result<std::unique_ptr<Engine<Family>>> load(const std::string& name) {
    std::vector<double> seconds, cpu_seconds;
    std::unique_ptr<Engine<Family>> engine;
    uint64_t total = 0;
    while (seconds.empty() || (seconds.size() < options_.loads && seconds.back() < kLongLoad_s)) {
      engine.reset();
      const uint64_t before = allocated_bytes();
      auto made = make(name, 0);
      if (!made) return made;
      engine = std::move(*made);
      const Stopwatch stopwatch;
      if (auto added = add_all(name, *engine); !added) return tl::unexpected(added.error());
      seconds.push_back(stopwatch.seconds());
      cpu_seconds.push_back(stopwatch.cpu_seconds());
      total = allocated_bytes() - before;
    }
    result_.loads.push_back({Family::kNumber, name, median(seconds), median(cpu_seconds),
                             static_cast<unsigned>(seconds.size()), engine->bytes(), total,
                             engine->entry_bytes()});
    return engine;
  }

  Result<void> look_up(Destinations kind) {
    const std::span<const typename Family::Prefix> prefixes(prefixes_);
    const auto few = make_destinations(kind, prefixes, options_.destinations, kDestinationSeed);
    const auto many = make_destinations(kind, prefixes, options_.stream, kDestinationSeed + 1);
    for (const auto& destinations : {&few, &many})
      if (auto agreed = check(routes_, *destinations, to_string(kind)); !agreed) return agreed;
    for (const State state : kStates) {
      std::vector<std::vector<double>> cycles(engines_.size());
      for (unsigned round = 0; round < options_.rounds; ++round)
        for (size_t turn = 0; turn < engines_.size(); ++turn) {
          const size_t i = (round + turn) % engines_.size();  // nobody is always behind the same
          cycles[i].push_back(passes_.measure(state, *engines_[i].engine, few, many, round));
        }
      for (size_t i = 0; i < engines_.size(); ++i) add_row(kind, state, engines_[i], cycles[i]);
    }
    return {};
  }

  void add_row(Destinations kind, State state, const Entrant& entrant,
               const std::vector<double>& cycles) {
    LookupRow row;
    row.family = Family::kNumber;
    row.destinations = to_string(kind);
    row.engine = entrant.name;
    row.state = to_string(state);
    row.cycles = median(cycles);
    row.cycles_q1 = quantile(cycles, 0.25);
    row.cycles_q3 = quantile(cycles, 0.75);
    row.mlps = static_cast<double>(rte_get_tsc_hz()) / row.cycles / 1e6;
    row.bytes = entrant.engine->bytes();
    result_.rows.push_back(row);
  }

  // Every engine gives what the reference gives, for every destination.
  Result<void> check(const std::vector<Route<Family>>& routes,
                     const std::vector<Destination>& destinations, std::string_view what) {
    const Reference<Family> reference(routes);
    std::vector<lookup::GroupId> right;
    right.reserve(destinations.size());
    for (const Destination& destination : destinations)
      right.push_back(reference.find(destination));
    for (const Entrant& entrant : engines_)
      if (const auto wrong =
              first_wrong<Family>(*entrant.engine, destinations, right, options_.batch))
        return fail(fmt::format("{}, {}: {}", entrant.name, what, *wrong));
    return {};
  }

  // rte_lpm searches its rules one by one, a millisecond each; the vector engines change as the
  // scalar ones do.
  static bool is_updated(const std::string& name) {
    return name == "hecto" || name == "rte_fib" || name == "rte_fib6";
  }

  Result<void> update() {
    const auto destinations = make_destinations(Destinations::kInTable,
                                                std::span<const typename Family::Prefix>(prefixes_),
                                                options_.destinations, kDestinationSeed);
    std::vector<std::string> names;
    for (const Entrant& entrant : engines_)
      if (is_updated(entrant.name)) names.push_back(entrant.name);
    for (const std::string& name : names) {
      engines_.clear();
      auto engine = make(name, options_.updates);
      if (!engine) return tl::unexpected(engine.error());
      if (auto added = add_all(name, **engine); !added) return added;
      engines_.push_back({name, std::move(*engine)});
      if (auto done = update(engines_[0], destinations); !done) return done;
    }
    engines_.clear();
    return {};
  }

  Result<void> update(Entrant& entrant, const std::vector<Destination>& destinations) {
    std::vector<Route<Family>> changed = routes_;
    auto rate =
        change_routes(*entrant.engine, changed, options_.updates, options_.next_hops, kUpdateSeed);
    if (!rate) return fail(fmt::format("{}: {}", entrant.name, rate.error().message));
    add_row(entrant.name, *rate, 0, 0);
    if (auto agreed = check(changed, destinations, "after changes"); !agreed) return agreed;
    auto* hecto = dynamic_cast<HectoEngine<Family>*>(entrant.engine.get());
    if (hecto == nullptr || options_.readers == 0) return {};
    Readers<Family> readers(*hecto, destinations, options_.readers, options_.batch,
                            contest_.reader_cpus);
    const uint64_t before = readers.looked_up();
    rate = change_routes(*hecto, changed, options_.updates, options_.next_hops, kUpdateSeed + 1);
    const uint64_t looked_up = readers.looked_up() - before;
    readers.stop();
    if (!rate) return fail(fmt::format("hecto under readers: {}", rate.error().message));
    add_row(entrant.name, *rate, options_.readers, static_cast<double>(looked_up));
    return check(changed, destinations, "after changes under readers");
  }

  void add_row(const std::string& name, const UpdateRate& rate, unsigned readers,
               double looked_up) {
    const auto changes = static_cast<double>(rate.changes);
    const auto cpus = static_cast<unsigned>(CPU_COUNT(&contest_.reader_cpus));
    result_.updates.push_back({Family::kNumber, name, readers, readers == 0 ? 0 : cpus,
                               changes / rate.seconds, changes / rate.cpu_seconds,
                               looked_up / rate.seconds / 1e6});
  }

  const Contest& contest_;
  const LookupOptions& options_;
  const std::vector<Route<Family>>& routes_;
  LookupResult& result_;
  Passes<Family> passes_;
  std::vector<typename Family::Prefix> prefixes_;
  std::vector<Entrant> engines_;
};

}  // namespace

template <typename Family>
Result<void> run(const Contest& contest, LookupResult& result) {
  return FamilyContest<Family>(contest, result).run();
}

template Result<void> run<Ipv4>(const Contest&, LookupResult&);
template Result<void> run<Ipv6>(const Contest&, LookupResult&);

}  // namespace hecto::bench
