#include "bench/lib/command.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <memory>

#include "bench/run/report.hpp"
#include "bench/run/run.hpp"
#include "bench/run/table.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string file;
  std::string out;
  bool list = false, dry_run = false, quick = false;
};

std::atomic<bool> stop_asked = false;

int list() {
  const auto folder = find_experiments();
  if (!folder) {
    fmt::print(stderr, "no experiments: neither bench/experiments here nor installed ones\n");
    return 1;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(*folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const auto experiment = load_experiment(file);
    fmt::print("{:<20} {}\n", file.stem().string(),
               experiment ? experiment->title : experiment.error()[0]);
  }
  return 0;
}

// A file's name, or that of a shipped experiment.
std::string find_file(const std::string& name) {
  const auto folder = find_experiments();
  if (fs::exists(name) || name.find('/') != std::string::npos || !folder) return name;
  const fs::path shipped = *folder / (name + ".yaml");
  return fs::exists(shipped) ? shipped.string() : name;
}

int dry_run(const Experiment& experiment, bool quick) {
  for (const auto& point : points_of(experiment))
    fmt::print("hecto-bench {}\n", fmt::join(words_of(experiment, point, quick), " "));
  return 0;
}

int run(const Options& options) {
  if (options.list) return list();
  if (options.file.empty()) {
    fmt::print(stderr, "no experiment; name a file, or one of hecto-bench run --list\n");
    return 2;
  }
  const auto experiment = load_experiment(find_file(options.file));
  if (!experiment) {
    for (const std::string& line : experiment.error()) fmt::print(stderr, "{}\n", line);
    return 2;
  }
  if (options.dry_run) return dry_run(*experiment, options.quick);
  RunOptions run;
  run.quick = options.quick;
  run.out = options.out.empty() ? fmt::format("build/results/{}-{:%Y%m%d-%H%M%S}", experiment->name,
                                              fmt::localtime(std::time(nullptr)))
                                : options.out;
  // Children get the signal themselves; what they and we have until then is kept.
  for (const int number : {SIGINT, SIGTERM}) signal(number, [](int) { stop_asked = true; });
  run.stop = &stop_asked;
  run.tell = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const auto outcome = run_experiment(*experiment, run);
  if (!outcome) {
    fmt::print(stderr, "{}\n", outcome.error().message);
    return 1;
  }
  const std::string no_picture = write_report(*outcome, run.out);
  fmt::print("{}\n{}\n\n{}", experiment->title, experiment->question, to_text(*outcome));
  for (const std::string& note : notes(*outcome)) fmt::print("{}\n", note);
  if (!no_picture.empty()) fmt::print("{}\n", no_picture);
  fmt::print("\nwritten: {}\n", (run.out / "report.html").string());
  return outcome->partial() ? 1 : 0;
}

}  // namespace

void add_run(CLI::App& app, Work& work) {
  CLI::App* command =
      app.add_subcommand("run", "an experiment from a file: figures, plot and report in a folder");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "the experiment, or the name of a shipped one");
  command->add_option("--out", options->out,
                      "folder for the result; default: build/results/NAME-DATE");
  command->add_flag("--quick", options->quick, "at most 2 repetitions, and short rounds");
  command->add_flag("--dry-run", options->dry_run, "only prints what would be run");
  command->add_flag("--list", options->list, "the shipped experiments");
  command->callback([&work, options] { work = [options] { return run(*options); }; });
}

}  // namespace hecto::bench
