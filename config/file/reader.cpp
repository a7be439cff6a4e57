#include "config/file/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unordered_map>

#include "base/text.hpp"

namespace hecto::config {
namespace {

constexpr size_t kSeenBytes = 60;

std::string join_path(const std::string& path, std::string_view key) {
  return path.empty() ? seen_text(key) : fmt::format("{}.{}", path, seen_text(key));
}

}  // namespace

std::string seen_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (out.size() >= kSeenBytes) return out + "...";
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

void Report::add(uint32_t line, std::string_view path, std::string_view text) {
  if (full()) {
    ++left_out_;
    return;
  }
  std::string_view colon = path.empty() ? "" : ": ";
  const std::string where = line == 0 ? file_ : fmt::format("{}:{}", file_, line);
  lines_.push_back({line, std::string(path), fmt::format("{}: {}{}{}", where, path, colon, text)});
}

void Report::add(std::string_view path, std::string_view text) {
  add(0, path, text);
}

bool Report::tells(std::string_view path) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
    const std::string_view told = line.path;
    return told.starts_with(path) &&
           (told.size() == path.size() || told[path.size()] == '.' || told[path.size()] == '[');
  });
}

std::vector<std::string> Report::take() {
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const Line& a, const Line& b) { return a.number < b.number; });
  std::vector<std::string> out;
  for (Line& line : lines_)
    if (out.empty() || out.back() != line.text) out.push_back(std::move(line.text));
  if (left_out_ > 0) out.push_back(fmt::format("{}: and {} more problems", file_, left_out_));
  return out;
}

bool Report::count_read(uint32_t line) {
  if (reads_ > kMaxReads) return false;
  if (++reads_ <= kMaxReads) return true;
  add(line, "", fmt::format("more than {} values by way of aliases; write fewer", kMaxReads));
  return false;
}

Value::Value(const Document& document, Report& report, DocumentNode::Child child, std::string path)
    : document_(&document),
      report_(&report),
      node_(&document.nodes[child.node]),
      line_(child.line),
      path_(std::move(path)) {}

std::string Value::seen() const {
  switch (node_->kind) {
    case NodeKind::kNull:
      return "nothing";
    case NodeKind::kList:
      return "a list";
    case NodeKind::kMap:
      return "a map";
    case NodeKind::kScalar:
      break;
  }
  return node_->quoted ? fmt::format("\"{}\"", seen_text(node_->text)) : seen_text(node_->text);
}

void Value::refuse(std::string_view text) const {
  // A full report only counts: spare it the words.
  complain(report_->full() ? std::string() : fmt::format("{} {}", seen(), text));
}

void Value::complain(std::string_view text) const {
  report_->add(line_, path_, text);
}

std::string_view Value::word() const {
  if (node_->kind != NodeKind::kScalar) return {};
  return node_->text;
}

bool Value::is_word(std::string_view word) const {
  return node_->kind == NodeKind::kScalar && node_->text == word;
}

std::optional<std::string> Value::text(std::string_view right) const {
  bool scalar = node_->kind == NodeKind::kScalar;
  bool clean = std::none_of(node_->text.begin(), node_->text.end(),
                            [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (scalar && clean && !node_->text.empty()) return node_->text;
  if (!scalar)
    refuse(fmt::format("where a text is needed; use {}", right));
  else if (!clean)
    refuse(fmt::format("has control characters; use {}", right));
  else
    complain(fmt::format("an empty text; use {}", right));
  return std::nullopt;
}

std::optional<uint64_t> parse_decimal(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<uint64_t> Value::integer(uint64_t low, uint64_t high) const {
  std::string_view digits = node_->quoted ? std::string_view() : word();
  auto number = parse_decimal(digits);
  if (number && *number >= low && *number <= high) return number;
  bool numeric = !digits.empty() &&
                 digits.find_first_not_of("0123456789", digits[0] == '-') == std::string_view::npos;
  refuse(fmt::format("is {}; use {} to {}", numeric ? "out of range" : "not a whole number", low,
                     high));
  return std::nullopt;
}

std::optional<double> Value::number(double low, double high) const {
  std::string_view digits = node_->quoted ? std::string_view() : word();
  double number = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool numeric = !digits.empty() && error == std::errc() && stop == digits.data() + digits.size() &&
                 std::isfinite(number);
  if (numeric && number >= low && number <= high) return number;
  refuse(fmt::format("is {}; use {} to {}", numeric ? "out of range" : "not a number", low, high));
  return std::nullopt;
}

std::optional<bool> Value::boolean() const {
  std::string_view w = node_->quoted ? std::string_view() : word();
  if (w == "true" || w == "yes" || w == "on") return true;
  if (w == "false" || w == "no" || w == "off") return false;
  refuse("is neither; use true or false");
  return std::nullopt;
}

std::optional<int> Value::one_of(std::span<const Enumerator> words) const {
  std::vector<std::string_view> names;
  for (const Enumerator& e : words) names.push_back(e.name);
  const auto which = one_of(names);
  return which ? std::optional(words[*which].value) : std::nullopt;
}

std::optional<size_t> Value::one_of(std::span<const std::string_view> words) const {
  for (size_t i = 0; i < words.size(); ++i)
    if (is_word(words[i])) return i;
  refuse(fmt::format("is not known; use {} or {}", fmt::join(words.first(words.size() - 1), ", "),
                     words.back()));
  return std::nullopt;
}

std::optional<uint64_t> Value::scaled(uint64_t low, uint64_t high, std::string_view right,
                                      std::string_view unit, bool bytes) const {
  struct Suffix {
    std::string_view name;
    uint64_t factor;
  };
  static constexpr Suffix kBytes[] = {
      {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30},   {"TiB", 1ull << 40},
      {"kB", 1'000},       {"MB", 1'000'000},   {"GB", 1'000'000'000}, {"B", 1}};
  static constexpr Suffix kRates[] = {{"k", 1'000}, {"M", 1'000'000}, {"G", 1'000'000'000}};

  std::string_view number = word();
  uint64_t factor = 1;
  if (!bytes && number.ends_with(unit)) number.remove_suffix(unit.size());
  std::span<const Suffix> suffixes = bytes ? std::span<const Suffix>(kBytes) : kRates;
  for (const Suffix& suffix : suffixes) {
    if (!number.ends_with(suffix.name)) continue;
    number.remove_suffix(suffix.name.size());
    factor = suffix.factor;
    break;
  }
  while (number.ends_with(' ')) number.remove_suffix(1);
  auto count = parse_decimal(number);
  uint64_t product = 0;
  if (!count) {
    refuse(fmt::format("is not {}; use {}", bytes ? "a size" : "a rate", right));
    return std::nullopt;
  }
  if (__builtin_mul_overflow(*count, factor, &product) || product < low || product > high) {
    refuse(fmt::format("is out of range; use {}", right));
    return std::nullopt;
  }
  return product;
}

std::string least_size_words(uint64_t bytes) {
  return bytes >> 20 == 0 ? fmt::format("{}B", bytes) : fmt::format("{}MiB", bytes >> 20);
}

std::string most_size_words(uint64_t bytes) {
  return fmt::format("{}GiB", bytes >> 30);
}

std::optional<uint64_t> Value::size(uint64_t low, uint64_t high) const {
  return scaled(low, high, fmt::format("{} to {}", least_size_words(low), most_size_words(high)),
                "", true);
}

std::optional<uint64_t> Value::rate(uint64_t low, uint64_t high) const {
  return scaled(low, high, fmt::format("{} to {}Mpps, as 500, 2kpps or 1Mpps", low, high / 1000000),
                "pps", false);
}

std::string bit_rate_words(uint64_t bps) {
  struct Unit {
    uint64_t factor;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{1'000'000'000, "Gbps"}, {1'000'000, "Mbps"}, {1'000, "kbps"}};
  for (const Unit& unit : kUnits)
    if (bps != 0 && bps % unit.factor == 0)
      return fmt::format("{}{}", bps / unit.factor, unit.name);
  return std::to_string(bps);
}

std::optional<uint64_t> Value::bit_rate(uint64_t low, uint64_t high) const {
  return scaled(low, high,
                fmt::format("{} to {}, bits a second, as 10Mbps or 1Gbps", bit_rate_words(low),
                            bit_rate_words(high)),
                "bps", false);
}

std::span<const DocumentNode::Child> Value::children(NodeKind kind, std::string_view right,
                                                     size_t step, size_t most) const {
  if (node_->kind != kind) {
    refuse(fmt::format("where a {} is needed; use {}", kind == NodeKind::kMap ? "map" : "list",
                       right));
    return {};
  }
  if (node_->children.size() / step > most) {
    complain(fmt::format("{} of them; use at most {}", node_->children.size() / step, most));
    return {};
  }
  return node_->children;
}

std::vector<Value> Value::items(std::string_view right, size_t most) const {
  std::vector<Value> out;
  for (DocumentNode::Child child : children(NodeKind::kList, right, 1, most)) {
    if (!report_->count_read(child.line)) break;
    out.emplace_back(*document_, *report_, child, fmt::format("{}[{}]", path_, out.size()));
  }
  return out;
}

std::vector<Value::Entry> Value::entries(std::string_view right, size_t most) const {
  std::vector<Entry> out;
  std::unordered_map<std::string_view, uint32_t> lines;
  auto flat = children(NodeKind::kMap, right, 2, most);
  for (size_t i = 0; i + 1 < flat.size(); i += 2) {
    const DocumentNode& key = document_->nodes[flat[i].node];
    uint32_t line = flat[i].line;
    if (!report_->count_read(line)) break;
    if (key.kind != NodeKind::kScalar || key.text.empty()) {
      report_->add(line, path_, "a key that is not a word; write KEY: VALUE");
      continue;
    }
    std::string path = join_path(path_, key.text);
    auto [first, fresh] = lines.emplace(key.text, line);
    if (!fresh) {
      report_->add(line, path,
                   fmt::format("here again, first on line {}; keep one", first->second));
      continue;
    }
    // A missing value has no place of its own.
    DocumentNode::Child value = flat[i + 1];
    if (document_->nodes[value.node].kind == NodeKind::kNull) value.line = line;
    out.push_back({key.text, Value(*document_, *report_, value, std::move(path))});
  }
  return out;
}

void undeclared_key(std::string_view key, std::span<const std::string_view> known) {
  throw std::logic_error(fmt::format(
      "key {} is read, but its table has {}: declare it there (config/README.md, \"Adding a key\")",
      key, fmt::join(known, ", ")));
}

Fields::Fields(const Value& map, std::span<const std::string_view> known, std::string_view right)
    : map_(map), known_(known), is_map_(map.kind() == NodeKind::kMap) {
  for (Value::Entry& entry : map.entries(right)) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) {
      entries_.push_back(std::move(entry));
      continue;
    }
    std::string_view near = nearest(entry.key, known);
    entry.value.complain(near.empty() ? fmt::format("unknown key; use {}", fmt::join(known, ", "))
                                      : fmt::format("unknown key; did you mean {}?", near));
  }
}

const Value* Fields::get(std::string_view key) const {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) undeclared_key(key, known_);
  for (const Value::Entry& entry : entries_)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

const Value* Fields::need(std::string_view key, std::string_view right) const {
  const Value* value = get(key);
  if (value == nullptr && is_map_) map_.complain(fmt::format("has no {}; add {}", key, right));
  return value;
}

namespace {

// Keys may stand in the text: what it leaves behind is wiped.
void grow(std::string& text, size_t bytes) {
  if (bytes > text.capacity()) {
    std::string larger;
    larger.reserve(bytes);
    larger = text;
    explicit_bzero(text.data(), text.size());
    text.swap(larger);
  }
  text.resize(bytes);
}

}  // namespace

tl::expected<std::string, Problems> read_file(const std::string& file) {
  auto refused = [&](std::string_view text) {
    return tl::unexpected(Problems{fmt::format("{}: {}", file, text)});
  };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return refused("a folder; name a file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return refused(fmt::format("cannot be opened: {}", std::strerror(errno)));
  // One byte over the limit is enough to refuse, also from a pipe or a device that never ends.
  std::string text;
  for (size_t step = 1u << 16; text.size() <= kMaxFileBytes; step *= 2) {
    const size_t had = text.size(), room = std::min(step, kMaxFileBytes + 1 - had);
    grow(text, had + room);
    stream.read(text.data() + had, static_cast<std::streamsize>(room));
    if (stream.bad()) return refused(fmt::format("cannot be read: {}", std::strerror(errno)));
    text.resize(had + static_cast<size_t>(stream.gcount()));
    if (text.size() < had + room) break;
  }
  return text;
}

tl::expected<void, Problems> read_yaml(std::string_view yaml, const std::string& file_name,
                                       std::string_view right,
                                       const std::function<void(const Value& root)>& read) {
  Report report(file_name);
  auto document = read_document(yaml);
  if (!document) {
    report.add(document.error().line, "", document.error().text);
    return tl::unexpected(report.take());
  }
  auto root = static_cast<uint32_t>(document->nodes.size() - 1);
  Value file(*document, report, {root, document->nodes[root].line}, "");
  if (file.kind() == NodeKind::kMap)
    read(file);
  else if (file.kind() == NodeKind::kNull)
    report.add("", fmt::format("empty; {}", right));
  else
    file.refuse(fmt::format("where KEY: VALUE lines are needed; {}", right));
  wipe(*document);
  if (!report.empty()) return tl::unexpected(report.take());
  return {};
}

}  // namespace hecto::config
