#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/calibrate/calibrate.hpp"

namespace hecto::bench {

void add_calibrate(CLI::App& app, Work& work) {
  CLI::App* command =
      app.add_subcommand("calibrate", "this machine's constants of the capacity model, as a file");
  const auto options = std::make_shared<CalibrateOptions>();
  command->add_option("--out", options->out, "the file to write")->capture_default_str();
  command->add_option("--only", options->parts, "only these parts, as in stages,copies")
      ->delimiter(',')
      ->check(CLI::IsMember(calibrate_parts()));
  command->add_option("--table", options->table,
                      "route file; default: the real table, or a synthetic one");
  command->add_option("--root", options->root, "where ../shared/data is looked for");
  command->add_flag("--quick", options->quick, "a look in seconds, for no file to rely on");
  command->callback([&work, options] { work = [options] { return calibrate(*options); }; });
}

}  // namespace hecto::bench
