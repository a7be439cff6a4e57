// An experiment as a file: what is asked, which sub-command measures it, which of its options vary,
// what is read from its JSON, and how that is drawn. docs/measuring.md is the reference of the
// keys.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/file/reader.hpp"

namespace hecto::bench {

inline constexpr unsigned kMaxRepeat = 1000;
inline constexpr size_t kMaxPoints = 1000;

// --NAME=VALUE of a sub-command; a flag has no value.
struct Option {
  std::string name;
  std::optional<std::string> value;
  bool operator==(const Option&) const = default;
};

struct Varied {
  std::string option;
  std::vector<std::string> values;
};

// A number in the JSON of a point.
struct Figure {
  std::string name;
  std::string pointer;  // RFC 6901: "/ipv4/mpps"
  bool drawn = true;    // else in the table alone
};

struct Experiment {
  std::string file;  // where it was read from
  std::string name;  // of the file, without its ending
  std::string title, question;
  std::string command;          // a sub-command of hecto-bench
  std::vector<Option> options;  // of every point
  std::vector<Option> quick;    // with --quick, in place of those of the same name
  std::vector<Varied> vary;     // one or two
  unsigned repeat = 3;
  double limit_s = 120;  // of one point, once
  std::string x;         // a varied option
  std::string series;    // the other one; empty when there is none
  std::vector<Figure> figures;
  std::string unit;  // of those that are drawn
  bool log_x = false, log_y = false;
};

tl::expected<Experiment, config::Problems> parse_experiment(std::string_view yaml,
                                                            const std::string& file);
tl::expected<Experiment, config::Problems> load_experiment(const std::string& file);

// The values of each point's varied options, in the file's order; the last varied is the fastest.
std::vector<std::vector<std::string>> points_of(const Experiment& experiment);
// The sub-command and its options for one of them: words to run hecto-bench with.
std::vector<std::string> words_of(const Experiment& experiment,
                                  const std::vector<std::string>& point, bool quick);
// "size=64 mode=rx".
std::string label_of(const Experiment& experiment, const std::vector<std::string>& point);

// Where the shipped ones lie: below this folder, in the checkout that was built, installed.
std::optional<std::filesystem::path> find_experiments();

}  // namespace hecto::bench
