#include "bench/run/experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using config::Fields;
using config::NodeKind;
using config::Value;

constexpr std::string_view kKeys[] = {"title",    "question", "measure", "options", "quick",
                                      "topology", "config",   "traffic", "vary",    "repeat",
                                      "limit_s",  "plot",     "table"};
constexpr std::string_view kPlotKeys[] = {"x", "y", "series", "unit", "log"};
// Options that name a file, which lies beside the experiment.
constexpr std::string_view kFileKeys[] = {"topology", "config", "traffic"};
constexpr size_t kMaxOptions = 32;

// What a command line can be made of without a second thought.
bool is_option_name(std::string_view name) {
  return !name.empty() && name[0] != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

std::string text_of(const Value* value, std::string_view right) {
  if (value == nullptr) return {};
  return value->text(right).value_or("");
}

// true and false are flags; a list is its items with commas between.
void read_option(const Value::Entry& entry, std::vector<Option>& options) {
  if (!is_option_name(entry.key)) {
    entry.value.complain(
        "no option of a sub-command; write it without its dashes, as round-ms: 50");
    return;
  }
  if (entry.key == "json") {
    entry.value.complain("is the experiment's own; leave it out");
    return;
  }
  const Value& value = entry.value;
  if (value.kind() == NodeKind::kList) {
    std::vector<std::string> words;
    for (const Value& item : value.items("a list of words", 64))
      if (auto word = item.text("a word")) words.push_back(*word);
    options.push_back({entry.key, fmt::format("{}", fmt::join(words, ","))});
  } else if (value.is_word("true")) {
    options.push_back({entry.key, std::nullopt});
  } else if (!value.is_word("false")) {
    if (auto text = value.text("a value")) options.push_back({entry.key, *text});
  }
}

std::vector<Option> read_options(const Value* value) {
  std::vector<Option> options;
  if (value == nullptr) return options;
  for (const Value::Entry& entry : value->entries("options, as {rounds: 5}", kMaxOptions))
    read_option(entry, options);
  return options;
}

void read_file_option(std::string_view key, const Value& value, Experiment& experiment) {
  auto name = value.text("a file beside this one");
  if (!name) return;
  const fs::path path = fs::absolute(experiment.file).parent_path() / *name;
  std::error_code error;
  if (fs::is_regular_file(path, error))
    experiment.options.push_back({std::string(key), path.lexically_normal().string()});
  else
    value.refuse(fmt::format("is no file; {} was looked for", path.lexically_normal().string()));
}

void read_vary(const Value& value, Experiment& experiment) {
  size_t points = 1;
  for (const Value::Entry& entry : value.entries("one or two options, as {size: [64, 1518]}", 2)) {
    if (!is_option_name(entry.key)) {
      entry.value.complain("no option of a sub-command; write it without its dashes");
      continue;
    }
    Varied varied{entry.key, {}};
    for (const Value& item : entry.value.items("a list of values", kMaxPoints)) {
      auto text = item.text("a value");
      if (!text) continue;
      if (std::find(varied.values.begin(), varied.values.end(), *text) != varied.values.end())
        item.refuse("is there twice; name it once");
      varied.values.push_back(*text);
    }
    if (varied.values.empty()) entry.value.complain("no value; name at least one");
    points *= varied.values.size();
    const auto fixed = [&](const std::vector<Option>& options) {
      return std::any_of(options.begin(), options.end(),
                         [&](const Option& option) { return option.name == varied.option; });
    };
    if (fixed(experiment.options) || fixed(experiment.quick))
      entry.value.complain("is among the fixed options as well; keep one");
    experiment.vary.push_back(std::move(varied));
  }
  if (experiment.vary.empty()) value.complain("nothing varies; name one or two options");
  if (points > kMaxPoints)
    value.complain(fmt::format("{} points; use at most {}", points, kMaxPoints));
}

void read_figures(const Value& value, bool drawn, Experiment& experiment) {
  const size_t before = experiment.figures.size();
  for (const Value::Entry& entry : value.entries("figures, as {IPv4: /ipv4/mpps}", 16)) {
    auto pointer = entry.value.text("a place in the JSON, as /ipv4/mpps");
    if (!pointer) continue;
    try {
      if (nlohmann::json::json_pointer(*pointer).empty()) throw std::invalid_argument("the root");
      experiment.figures.push_back({entry.key, *pointer, drawn});
    } catch (const std::exception&) {
      entry.value.refuse("is no JSON pointer; use one as /ipv4/mpps");
    }
  }
  if (experiment.figures.size() == before)
    value.complain("no figure; name one, as {IPv4: /ipv4/mpps}");
}

void read_axis(const Value* value, const Experiment& experiment, std::string& axis) {
  if (value == nullptr) return;
  auto text = value->text("a varied option");
  if (!text) return;
  std::vector<std::string_view> varied;
  for (const Varied& v : experiment.vary) varied.push_back(v.option);
  if (std::find(varied.begin(), varied.end(), *text) == varied.end())
    value->refuse(fmt::format("does not vary; use {}", fmt::join(varied, " or ")));
  else
    axis = *text;
}

void read_plot(const Value& value, Experiment& experiment) {
  const Fields fields(value, kPlotKeys, "a map, as {x: size, y: {IPv4: /ipv4/mpps}}");
  read_axis(fields.need("x", "the varied option along the axis"), experiment, experiment.x);
  for (const Varied& varied : experiment.vary)
    if (varied.option != experiment.x) experiment.series = varied.option;
  if (const Value* series = fields.get("series")) {
    read_axis(series, experiment, experiment.series);
    if (experiment.series == experiment.x) series->refuse("is x already; use the other option");
  }
  if (const Value* y = fields.need("y", "the figures, as y: {IPv4: /ipv4/mpps}"))
    read_figures(*y, true, experiment);
  experiment.unit = text_of(fields.get("unit"), "a unit, as Mpps");
  static constexpr config::Enumerator kLog[] = {{"x", 1}, {"y", 2}, {"xy", 3}};
  if (const Value* log = fields.get("log"))
    if (auto axes = log->one_of(kLog)) {
      experiment.log_x = *axes & 1;
      experiment.log_y = *axes & 2;
    }
}

void read_all(const Value& root, Experiment& experiment) {
  const Fields fields(root, kKeys, "KEY: VALUE lines");
  experiment.title = text_of(fields.need("title", "a few words"), "a few words");
  experiment.question = text_of(fields.need("question", "what is to be known"), "a question");
  if (const Value* measure = fields.need("measure", "a sub-command, as measure: forward")) {
    experiment.command = text_of(measure, "a sub-command, as forward");
    if (!experiment.command.empty() &&
        (!is_option_name(experiment.command) || experiment.command == "run"))
      measure->refuse("is no sub-command that measures; use one as forward");
  }
  experiment.options = read_options(fields.get("options"));
  experiment.quick = read_options(fields.get("quick"));
  for (const std::string_view key : kFileKeys)
    if (const Value* file = fields.get(key)) read_file_option(key, *file, experiment);
  if (const Value* vary = fields.need("vary", "one or two options with their values"))
    read_vary(*vary, experiment);
  if (const Value* repeat = fields.get("repeat"))
    experiment.repeat = static_cast<unsigned>(repeat->integer(1, kMaxRepeat).value_or(1));
  if (const Value* limit = fields.get("limit_s"))
    experiment.limit_s = limit->number(0.1, 1e6).value_or(1);
  if (const Value* plot = fields.need("plot", "as plot: {x: size, y: {IPv4: /ipv4/mpps}}"))
    read_plot(*plot, experiment);
  if (const Value* table = fields.get("table")) read_figures(*table, false, experiment);
}

void put(std::vector<Option>& options, const Option& option) {
  const auto same = std::find_if(options.begin(), options.end(),
                                 [&](const Option& other) { return other.name == option.name; });
  if (same == options.end())
    options.push_back(option);
  else
    *same = option;
}

}  // namespace

tl::expected<Experiment, config::Problems> parse_experiment(std::string_view yaml,
                                                            const std::string& file) {
  Experiment experiment;
  experiment.file = file;
  experiment.name = fs::path(file).stem().string();
  auto read = config::read_yaml(
      yaml, file, "begin with title:", [&](const Value& root) { read_all(root, experiment); });
  if (!read) return tl::unexpected(read.error());
  return experiment;
}

tl::expected<Experiment, config::Problems> load_experiment(const std::string& file) {
  auto text = config::read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_experiment(*text, file);
}

std::vector<std::vector<std::string>> points_of(const Experiment& experiment) {
  std::vector<std::vector<std::string>> points = {{}};
  for (const Varied& varied : experiment.vary) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& point : points)
      for (const std::string& value : varied.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    points = std::move(longer);
  }
  return points;
}

std::vector<std::string> words_of(const Experiment& experiment,
                                  const std::vector<std::string>& point, bool quick) {
  std::vector<Option> options = experiment.options;
  if (quick)
    for (const Option& option : experiment.quick) put(options, option);
  for (size_t i = 0; i < point.size(); ++i)
    options.push_back({experiment.vary[i].option, point[i]});
  std::vector<std::string> words = {experiment.command};
  for (const Option& option : options)
    words.push_back(option.value ? fmt::format("--{}={}", option.name, *option.value)
                                 : fmt::format("--{}", option.name));
  return words;
}

std::string label_of(const Experiment& experiment, const std::vector<std::string>& point) {
  std::string label;
  for (size_t i = 0; i < point.size(); ++i)
    label += fmt::format("{}{}={}", i == 0 ? "" : " ", experiment.vary[i].option, point[i]);
  return label;
}

std::optional<fs::path> find_experiments() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {fs::path("bench/experiments"), program / "../../bench/experiments",
                                 program / "../share/hecto/experiments"})
    if (fs::is_directory(folder, error)) return folder.lexically_normal();
  return std::nullopt;
}

}  // namespace hecto::bench
