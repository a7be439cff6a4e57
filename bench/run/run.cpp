#include "bench/run/run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "bench/lib/child.hpp"
#include "bench/lib/machine.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr size_t kLastLines = 8;
constexpr unsigned kQuickRepeat = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Whole or not at all: a reader, or our own end, never finds half a file.
Result<void> write_file(const fs::path& file, const std::string& text) {
  const fs::path fresh = file.string() + ".new";
  std::ofstream(fresh) << text;
  std::error_code error;
  if (fs::file_size(fresh, error) == text.size()) fs::rename(fresh, file, error);
  if (error || !fs::exists(file))
    return fail(fmt::format("{}: cannot be written: {}", file.string(), error.message()));
  return {};
}

bool stopped(const RunOptions& options) {
  return options.stop != nullptr && *options.stop;
}

// Its exit code; none when it was ended, for its time limit or because we are to stop.
std::optional<int> wait_for(Child& child, double limit_s, const RunOptions& options) {
  const auto start = Clock::now();
  while (seconds_since(start) < limit_s && !stopped(options))
    if (const auto code = child.wait(std::clamp(limit_s - seconds_since(start), 0.0, 0.2)))
      return code;
  child.stop();
  return std::nullopt;
}

Attempt attempt(const Point& point, const RunOptions& options, const std::string& stem,
                double limit_s) {
  const fs::path result = options.out / "points" / (stem + ".json");
  const fs::path log = options.out / "points" / (stem + ".log");
  std::vector<std::string> words = {options.executable};
  words.insert(words.end(), point.words.begin(), point.words.end());
  words.push_back("--json=" + result.string());
  Attempt done;
  const auto start = Clock::now();
  auto child = Child::start(words, {.log = log, .cpus = {}});
  if (!child) {
    done.error = child.error().message;
    return done;
  }
  const auto code = wait_for(**child, limit_s, options);
  done.seconds = seconds_since(start);
  if (!code)
    done.error =
        stopped(options)
            ? "interrupted"
            : fmt::format("still running after {:g} s; raise limit_s, or measure less", limit_s);
  else if (*code != 0)
    done.error = describe_exit(*code);
  std::ifstream stream(result);
  done.result = json::parse(stream, nullptr, false);
  if (done.result.is_discarded()) {
    done.result = nullptr;
    if (done.error.empty()) done.error = "it wrote no JSON";
  }
  if (!done.error.empty()) done.lines = last_lines(log, kLastLines);
  return done;
}

void read_figures(Point& point, const std::vector<Figure>& figures) {
  point.figures.assign(figures.size(), std::nullopt);
  for (size_t i = 0; i < figures.size(); ++i) {
    const json::json_pointer place(figures[i].pointer);
    std::vector<double> values;
    for (Attempt& attempt : point.attempts) {
      if (!attempt.error.empty()) continue;
      if (!attempt.result.contains(place) ||
          !(attempt.result[place].is_number() || attempt.result[place].is_null()))
        attempt.error = fmt::format("its JSON has no number at {}", figures[i].pointer);
      else if (attempt.result[place].is_number())
        values.push_back(attempt.result[place].get<double>());
    }
    if (!values.empty()) point.figures[i] = summarize(values);
  }
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    return fail(
        fmt::format("{}: there already, and not empty; name another folder", folder.string()));
  fs::create_directories(folder / "points", error);
  if (error) return fail(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  return {};
}

// Each round begins with another point, so that none always runs after the same one.
Result<void> run_rounds(Outcome& outcome, const RunOptions& options) {
  const Experiment& experiment = outcome.experiment;
  const auto start = Clock::now();
  const size_t count = outcome.points.size();
  for (unsigned round = 0; round < outcome.repeat; ++round)
    for (size_t turn = 0; turn < count; ++turn) {
      if (stopped(options)) return {};
      const size_t i = (turn + round) % count;
      Point& point = outcome.points[i];
      Attempt done =
          attempt(point, options, fmt::format("{}-{}", i + 1, round + 1), experiment.limit_s);
      const bool cut_short = stopped(options) && !done.error.empty();
      if (!cut_short) point.attempts.push_back(std::move(done));
      read_figures(point, experiment.figures);
      outcome.seconds = seconds_since(start);
      outcome.complete = !cut_short && round + 1 == outcome.repeat && turn + 1 == count;
      auto written = write_file(options.out / "result.json", to_json(outcome).dump(2) + "\n");
      if (!written) return written;
      if (!options.tell || cut_short) continue;
      const Attempt& last = point.attempts.back();
      options.tell(fmt::format("round {} of {}, point {} of {}: {}: {:.1f} s{}", round + 1,
                               outcome.repeat, turn + 1, count, label_of(experiment, point.values),
                               last.seconds, last.error.empty() ? "" : ", FAILED: " + last.error));
    }
  return {};
}

}  // namespace

bool Outcome::partial() const {
  return !complete || std::any_of(points.begin(), points.end(), [](const Point& point) {
    return std::any_of(point.attempts.begin(), point.attempts.end(),
                       [](const Attempt& attempt) { return !attempt.error.empty(); });
  });
}

double Outcome::noise() const {
  double most = 0;
  for (const Point& point : points)
    for (const auto& figure : point.figures)
      if (figure) most = std::max(most, figure->spread);
  return most;
}

Result<Outcome> run_experiment(const Experiment& experiment, const RunOptions& options) {
  if (auto made = make_folder(options.out); !made) return tl::unexpected(made.error());
  Outcome outcome;
  outcome.experiment = experiment;
  outcome.quick = options.quick;
  outcome.repeat = options.quick ? std::min(experiment.repeat, kQuickRepeat) : experiment.repeat;
  outcome.machine = machine_facts();
  outcome.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  for (auto& values : points_of(experiment)) {
    Point point;
    point.words = words_of(experiment, values, options.quick);
    point.values = std::move(values);
    outcome.points.push_back(std::move(point));
  }
  if (auto done = run_rounds(outcome, options); !done) return tl::unexpected(done.error());
  return outcome;
}

json to_json(const Outcome& outcome) {
  const Experiment& experiment = outcome.experiment;
  json out = {{"experiment", experiment.name}, {"file", experiment.file},
              {"title", experiment.title},     {"question", experiment.question},
              {"measure", experiment.command}, {"quick", outcome.quick},
              {"repeat", outcome.repeat},      {"machine", outcome.machine},
              {"started", outcome.started},    {"seconds", outcome.seconds},
              {"partial", outcome.partial()},  {"noise", outcome.noise()},
              {"notes", notes(outcome)},       {"points", json::array()}};
  for (const Point& point : outcome.points) {
    json entry = {{"command", point.words}, {"figures", json::object()}, {"runs", json::array()}};
    for (size_t i = 0; i < point.values.size(); ++i)
      entry["vary"][experiment.vary[i].option] = point.values[i];
    for (size_t i = 0; i < point.figures.size(); ++i) {
      json& figure = entry["figures"][experiment.figures[i].name];
      if (const auto& summary = point.figures[i])
        figure = {{"median", summary->median},
                  {"min", summary->least},
                  {"max", summary->most},
                  {"spread", summary->spread},
                  {"count", summary->count}};
    }
    for (const Attempt& attempt : point.attempts) {
      json run = {{"seconds", attempt.seconds}, {"result", attempt.result}};
      if (!attempt.error.empty()) run.update({{"failed", attempt.error}, {"said", attempt.lines}});
      entry["runs"].push_back(std::move(run));
    }
    out["points"].push_back(std::move(entry));
  }
  return out;
}

std::vector<std::string> notes(const Outcome& outcome) {
  std::vector<std::string> lines;
  const Experiment& experiment = outcome.experiment;
  size_t tried = 0;
  for (const Point& point : outcome.points) {
    tried += point.attempts.size();
    const auto failed = [](const Attempt& attempt) { return !attempt.error.empty(); };
    const auto first = std::find_if(point.attempts.begin(), point.attempts.end(), failed);
    if (first == point.attempts.end()) continue;
    lines.push_back(fmt::format(
        "partial: {} failed {} of {} times: {}{}{}", label_of(experiment, point.values),
        std::count_if(point.attempts.begin(), point.attempts.end(), failed), point.attempts.size(),
        first->error, first->lines.empty() ? "" : "; last said: ",
        first->lines.empty() ? "" : first->lines.back()));
  }
  const size_t wanted = outcome.points.size() * outcome.repeat;
  if (!outcome.complete)
    lines.push_back(fmt::format("partial: {} of {} runs were done", tried, wanted));
  size_t noisy = 0, figures = 0;
  std::string noisiest;
  for (const Point& point : outcome.points)
    for (size_t i = 0; i < point.figures.size(); ++i) {
      if (!point.figures[i]) continue;
      ++figures;
      const double spread = point.figures[i]->spread;
      if (spread > kNoisy) ++noisy;
      if (spread > kNoisy && spread == outcome.noise())
        noisiest = fmt::format("{} of {} spreads over {:.0f}%", experiment.figures[i].name,
                               label_of(experiment, point.values), spread * 100);
    }
  if (noisy > 0)
    lines.push_back(fmt::format(
        "noise: {} of {} figures spread over more than {:.0f}%, at worst {}: stop other work on "
        "this "
        "machine, run under chrt -f 50 or on isolated cores, or raise repeat; compare no figures "
        "that lie closer than this",
        noisy, figures, kNoisy * 100, noisiest));
  return lines;
}

}  // namespace hecto::bench
