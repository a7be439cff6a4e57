// Typed reading of a YAML document. Every value knows its file, line and path, and every refusal is
// one line in a Report:
//   lab.yaml:7: ports.lan0.mtu: 90000 is out of range; use 576 to 9000
// A reading function records the refusal itself and returns nothing; the caller goes on, so that
// all problems of a file are told together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/file/document.hpp"

namespace hecto::config {

inline constexpr size_t kMaxProblems = 100;

// A foreign text in words that fit a line: unprintable bytes escaped, long texts cut.
std::string seen_text(std::string_view text);

// Values looked at; aliases can make a document's uses outgrow its nodes.
inline constexpr size_t kMaxReads = 2 * kMaxNodes;

class Report {
 public:
  explicit Report(std::string file) : file_(std::move(file)) {}

  void add(uint32_t line, std::string_view path, std::string_view text);
  // Of the file as a whole: no line.
  void add(std::string_view path, std::string_view text);
  bool empty() const { return lines_.empty(); }
  // Whether something was told of `path`, or of what is below it.
  bool tells(std::string_view path) const;
  bool full() const { return lines_.size() >= kMaxProblems; }
  // By line, without repetitions.
  std::vector<std::string> take();
  const std::string& file() const { return file_; }

  // False, with a line in the report, once the document was read more often than is sane.
  bool count_read(uint32_t line);

 private:
  struct Line {
    uint32_t number;
    std::string path;
    std::string text;
  };
  std::string file_;
  std::vector<Line> lines_;
  size_t left_out_ = 0;
  size_t reads_ = 0;
};

struct Enumerator {
  std::string_view name;
  int value;
};

class Value {
 public:
  Value(const Document& document, Report& report, DocumentNode::Child child, std::string path);

  NodeKind kind() const { return node_->kind; }
  const std::string& path() const { return path_; }
  uint32_t line() const { return line_; }
  // The value in words that fit a line: unprintable bytes escaped, long texts cut.
  std::string seen() const;
  // "PATH: SEEN TEXT", where TEXT goes on after the value seen: "is out of range; use 1 to 9".
  void refuse(std::string_view text) const;
  void complain(std::string_view text) const;  // without the value seen

  // A plain word as given, for `auto`, `off` and their like; empty when it is not a scalar.
  std::string_view word() const;
  bool is_word(std::string_view word) const;

  std::optional<std::string> text(std::string_view right) const;
  std::optional<uint64_t> integer(uint64_t low, uint64_t high) const;
  std::optional<double> number(double low, double high) const;  // 0.5, 12, 1e9
  std::optional<bool> boolean() const;
  std::optional<int> one_of(std::span<const Enumerator> words) const;
  std::optional<size_t> one_of(std::span<const std::string_view> words) const;  // its place
  // 2GiB, 512MiB, 1000000: bytes.
  std::optional<uint64_t> size(uint64_t low, uint64_t high) const;
  // 10Mpps, 100kpps, 500: packets a second.
  std::optional<uint64_t> rate(uint64_t low, uint64_t high) const;
  // 10Mbps, 1Gbps, 64000: bits a second.
  std::optional<uint64_t> bit_rate(uint64_t low, uint64_t high) const;

  // Items of a list, each with its own path; a refusal when it is not one. `right` says in words
  // what belongs into it.
  std::vector<Value> items(std::string_view right, size_t most = kMaxNodes) const;
  // Entries of a map whose keys are names or numbers. Keys that come twice are refused.
  struct Entry;
  std::vector<Entry> entries(std::string_view right, size_t most = kMaxNodes) const;

  const Document& document() const { return *document_; }
  Report& report() const { return *report_; }

 private:
  std::optional<uint64_t> scaled(uint64_t low, uint64_t high, std::string_view right,
                                 std::string_view unit, bool bytes) const;
  std::span<const DocumentNode::Child> children(NodeKind kind, std::string_view right, size_t step,
                                                size_t most) const;

  const Document* document_;
  Report* report_;
  const DocumentNode* node_;
  uint32_t line_;
  std::string path_;
};

struct Value::Entry {
  std::string key;
  Value value;
};

// A programming error: what reads `key` finds it in no table. Throws std::logic_error.
[[noreturn]] void undeclared_key(std::string_view key, std::span<const std::string_view> known);

// A map with known keys: unknown ones are refused with the nearest one that exists.
class Fields {
 public:
  // `known` outlives the object. Asking for a key that is not in it throws std::logic_error.
  Fields(const Value& map, std::span<const std::string_view> known, std::string_view right);

  const Value* get(std::string_view key) const;  // null when absent
  // As get, and refuses when it is not there.
  const Value* need(std::string_view key, std::string_view right) const;

 private:
  const Value& map_;
  std::span<const std::string_view> known_;
  std::vector<Value::Entry> entries_;
  bool is_map_;
};

using Problems = std::vector<std::string>;  // lines ready to print; never empty when returned

// The file's bytes, at most one more than a document may have; else why there are none.
tl::expected<std::string, Problems> read_file(const std::string& file);

// Hands the root of a YAML document to `read`, which records what it refuses; gives all refusals.
// Of a document that is no map `read` sees nothing; `right` says what the file should begin with.
tl::expected<void, Problems> read_yaml(std::string_view yaml, const std::string& file_name,
                                       std::string_view right,
                                       const std::function<void(const Value& root)>& read);

// Ends of a range of sizes in words: 64MiB to 1024GiB.
std::string least_size_words(uint64_t bytes);
std::string most_size_words(uint64_t bytes);
// 10Mbps: as Value::bit_rate() reads it.
std::string bit_rate_words(uint64_t bps);

template <typename T>
T narrow(const T&, uint64_t number) {
  return static_cast<T>(number);
}
template <typename T>
std::optional<T> narrow(const std::optional<T>&, uint64_t number) {
  return static_cast<T>(number);
}
// Stores an integer within the bounds; leaves the target alone otherwise. Null values are skipped.
template <typename Target>
void read_integer(const Value* value, uint64_t low, uint64_t high, Target& target) {
  if (value == nullptr) return;
  if (auto number = value->integer(low, high)) target = narrow(target, *number);
}

// Digits only, no sign, no blanks; nothing when it does not fit.
std::optional<uint64_t> parse_decimal(std::string_view text);

}  // namespace hecto::config
