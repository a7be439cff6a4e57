#include "router/api/metrics/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace hecto::router {
namespace {

// Line feeds and backslashes are escaped, in labels and in OpenMetrics' help also quotes. Names here
// are ASCII; any other byte might be no UTF-8, which would cost the whole scrape.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || (c == '"' && quotes))
      out.append({'\\', c});
    else
      out += static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  return fmt::format("{}", value);
}

}  // namespace

MetricsWriter& MetricsWriter::family(std::string_view name) {
  const auto families = metric_families();
  const auto found = std::ranges::find(families, name, &MetricFamily::name);
  if (found == families.end() || !seen_.insert(found->name).second)
    throw std::logic_error("metrics: " + std::string(name) + " is unknown, or comes twice");
  family_ = &*found;
  suffix_ = sample_suffix(family_->kind);
  const bool plain = format_ == MetricsFormat::kPlain;
  // 0.0.4 has no info, and calls a family as its samples.
  const std::string head = plain ? sample_name(*family_) : std::string(family_->name);
  const MetricKind kind =
      plain && family_->kind == MetricKind::kInfo ? MetricKind::kGauge : family_->kind;
  auto out = std::back_inserter(text_);
  fmt::format_to(out, "# TYPE {} {}\n", head, to_string(kind));
  if (!plain && !family_->unit.empty()) fmt::format_to(out, "# UNIT {} {}\n", head, family_->unit);
  fmt::format_to(out, "# HELP {} ", head);
  append_escaped(text_, family_->help, !plain);
  text_ += '\n';
  return *this;
}

void MetricsWriter::begin_sample(std::string_view suffix) {
  if (family_ == nullptr) throw std::logic_error("metrics: a sample without a family");
  text_ += family_->name;
  text_ += suffix;
}

void MetricsWriter::add_labels(Labels labels) {
  begin_sample(suffix_);
  std::string_view names = family_->labels;
  char before = '{';
  for (const std::string_view value : labels) {
    if (names.empty()) throw std::logic_error("metrics: too many labels");
    const size_t end = std::min(names.find(','), names.size());
    text_ += before;
    text_ += names.substr(0, end);
    text_ += "=\"";
    append_escaped(text_, value, true);
    text_ += '"';
    names.remove_prefix(std::min(end + 1, names.size()));
    before = ',';
  }
  if (!names.empty()) throw std::logic_error("metrics: too few labels");
  if (before == ',') text_ += '}';
}

MetricsWriter& MetricsWriter::add(Labels labels, uint64_t value) {
  add_labels(labels);
  fmt::format_to(std::back_inserter(text_), " {}\n", value);
  return *this;
}

MetricsWriter& MetricsWriter::add(Labels labels, double value) {
  add_labels(labels);
  fmt::format_to(std::back_inserter(text_), " {}\n", number_text(value));
  return *this;
}

void MetricsWriter::histogram(std::span<const double> bounds, std::span<const uint64_t> counts,
                              double sum) {
  uint64_t total = 0;
  auto out = std::back_inserter(text_);
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    begin_sample("_bucket");
    fmt::format_to(out, "{{le=\"{}\"}} {}\n", i < bounds.size() ? number_text(bounds[i]) : "+Inf",
                   total);
  }
  begin_sample("_count");
  fmt::format_to(out, " {}\n", total);
  begin_sample("_sum");
  fmt::format_to(out, " {}\n", number_text(sum));
}

std::string MetricsWriter::finish() && {
  if (format_ == MetricsFormat::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace hecto::router
