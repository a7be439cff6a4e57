#include "router/dataplane/filter/policer.hpp"

namespace hecto::router {

Result<std::shared_ptr<Policer>> Policer::create(const config::PolicerConfig& config,
                                                 uint64_t ticks_per_second) {
  const auto profile = MeterProfile::create(config, ticks_per_second);
  if (!profile) return tl::unexpected(profile.error());
  return std::shared_ptr<Policer>(new Policer(config, *profile));
}

PolicerStatus Policer::status() const {
  const auto count = [&](Colour colour) {
    const Count& of = counts_[static_cast<size_t>(colour)];
    return FilterCount{of.packets.get(), of.bytes.get()};
  };
  return {config_.name, count(Colour::kGreen), count(Colour::kYellow), count(Colour::kRed)};
}

}  // namespace hecto::router
