#include "bench/compare-plan/rounds.hpp"

#include <algorithm>
#include <optional>

#include "bench/bed/calibration_round.hpp"
#include "bench/bed/slices.hpp"
#include "bench/lib/statistics.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

// One series over the rounds.
struct Series {
  BedWork work;
  std::vector<double> measured, errors;
  std::map<std::string, std::vector<double>> terms;
};

class Rounds {
 public:
  // `constants`: of a calibration file; none: anew in each round.
  Rounds(const ComparePlanOptions& options, Bed& bed, unsigned burst,
         const std::vector<uint16_t>& sizes, std::optional<config::Constants> constants)
      : quick_(options.quick),
        calibrated_(constants.has_value()),
        bed_(bed),
        slices_(bed, burst),
        calibration_(bed, slices_, burst, options.quick),
        sizes_(sizes),
        constants_(constants.value_or(config::Constants())) {}

  // False when nothing of the worker was sampled: the round is to be had again.
  bool run();
  std::vector<PlanRow> rows(const std::string& size) const;

 private:
  bool calibrate();
  void predict_and_measure(Series& series);
  unsigned slice_ms() const { return quick_ ? 5 : 20; }

  bool quick_;
  bool calibrated_;
  Bed& bed_;
  Slices slices_;
  CalibrationRounds calibration_;
  const std::vector<uint16_t>& sizes_;
  config::Constants constants_;
  std::vector<Series> series_ = {
      {BedWork::kFloor, {}, {}, {}}, {BedWork::kIpv4, {}, {}, {}}, {BedWork::kIpv6, {}, {}, {}}};
};

bool Rounds::calibrate() {
  if (calibrated_) return true;
  const auto cycles = calibration_.run();
  if (!cycles) return false;
  MeasuredConstants found;
  found.source = "measured";
  take_round(*cycles, found);
  constants_ = found.constants;
  return true;
}

void Rounds::predict_and_measure(Series& series) {
  const double cycles = slices_.measure(series.work, slice_ms()).cycles;
  const auto predicted = predict(constants_, std::string(to_string(series.work)), sizes_);
  series.measured.push_back(cycles);
  series.errors.push_back(cycles / predicted.sum - 1);  // of the rate
  std::map<std::string, double> terms;
  for (const config::Term& term : predicted.terms)
    terms[std::string(config::info(term.constant).name)] += term.cycles;
  for (const auto& [name, value] : terms) series.terms[name].push_back(value);
}

bool Rounds::run() {
  if (!calibrate()) return false;
  bed_.select_frames(calibration_frames().size());
  for (Series& series : series_) predict_and_measure(series);
  // Who is measured right after the constants changes with the round.
  std::rotate(series_.begin(), series_.begin() + 1, series_.end());
  return true;
}

std::vector<PlanRow> Rounds::rows(const std::string& size) const {
  std::vector<PlanRow> rows;
  for (const Series& series : series_) {
    PlanRow row{size, std::string(to_string(series.work))};
    for (const auto& [name, values] : series.terms)
      row.predicted_cycles += row.terms[name] = median(values);
    row.measured_cycles = median(series.measured);
    const double mhz = static_cast<double>(rte_get_tsc_hz()) / 1e6;
    row.predicted_mpps = mhz / row.predicted_cycles;
    row.measured_mpps = mhz / row.measured_cycles;
    row.calibrated = is_calibrated(sizes_);
    row.error = median(series.errors);
    row.error_spread = quantile(series.errors, 0.75) - quantile(series.errors, 0.25);
    row.spread = quartile_spread(series.measured);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const PlanRow& a, const PlanRow& b) { return a.series < b.series; });
  return rows;
}

}  // namespace

config::PacketCycles predict(const config::Constants& constants, const std::string& series,
                             const std::vector<uint16_t>& sizes) {
  // Headers are written by receiving itself, the rest is copied in, all of it out again.
  config::PacketWork work;
  work.ports = config::PortKind::kMemory;
  work.frame_bytes = mean_bytes(sizes);
  work.traffic = series == "ipv6" ? config::Traffic::kIpv6 : config::Traffic::kIpv4;
  const double in = work.frame_bytes - kLeastFrame_bytes, out = work.frame_bytes;
  if (series != "floor") {
    work.copies = 2;
    work.copied_bytes = in + out;
    return config::cycles_per_packet(constants, work);
  }
  work.work = config::Work::kReceive;
  work.copies = 1;
  work.copied_bytes = in;
  auto both = config::cycles_per_packet(constants, work);
  work.work = config::Work::kTransmit;
  work.copied_bytes = out;
  auto transmit = config::cycles_per_packet(constants, work);
  both.sum += transmit.sum;
  both.terms.insert(both.terms.end(), transmit.terms.begin(), transmit.terms.end());
  return both;
}

bool is_calibrated(const std::vector<uint16_t>& sizes) {
  return sizes == calibration_frames().front().sizes;
}

Result<std::vector<PlanRow>> compare_size(const ComparePlanOptions& options,
                                          const std::string& size) {
  auto sizes = frame_sizes(size);
  if (!sizes) return tl::unexpected(sizes.error());
  std::optional<config::Constants> constants;
  if (!options.calibration.empty()) {
    auto read = config::read_calibration(options.calibration);
    if (!read) return fail(read.error().front());
    constants = read->constants;
  }
  BedOptions bed_options;
  bed_options.table = options.table;
  bed_options.root = options.root;
  bed_options.frames = calibration_frames();
  bed_options.frames.push_back({.sizes = *sizes, .copied = true});
  auto bed = Bed::create(bed_options);
  if (!bed) return tl::unexpected(bed.error());
  Rounds rounds(options, **bed, bed_options.burst, *sizes, constants);
  for (unsigned round = 0, wanted = options.quick ? 6 : 61; round < wanted; ++round)
    if (!rounds.run()) return fail("no chunk was sampled: is something else on this core?");
  if (!(*bed)->all_forwarded()) return fail("packets were dropped");
  return rounds.rows(size);
}

}  // namespace hecto::bench
