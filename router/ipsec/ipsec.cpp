#include "router/ipsec/ipsec.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

namespace hecto::router {
namespace {

uint32_t monotonic_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint32_t>(now.tv_sec);
}

}  // namespace

Ipsec::Ipsec(IpsecOptions options)
    : options_(std::move(options)),
      sad_(options_.max_sas, *options_.readers),
      directions_{Direction(*options_.readers), Direction(*options_.readers),
                  Direction(*options_.readers)} {
  if (!options_.now_s) options_.now_s = monotonic_s;
}

Ipsec::~Ipsec() = default;

esp::IpsecView Ipsec::view() const {
  const auto& of = directions_;
  return {&sad_, &of[static_cast<size_t>(PolicyDirection::kOut)].spd,
          &of[static_cast<size_t>(PolicyDirection::kIn)].spd,
          &of[static_cast<size_t>(PolicyDirection::kForward)].spd};
}

void Ipsec::commit() {
  for (Templates::value_type* of : std::exchange(dirty_, {})) resolve(*of);
  for (Direction& direction : directions_) change(direction);
  if (!leaving_.empty()) {
    leaving_.token = options_.readers->start();
    retired_.push_back(std::exchange(leaving_, {}));
  }
  reclaim();
}

void Ipsec::reclaim() {
  sad_.reclaim();
  while (!retired_.empty() && options_.readers->passed(retired_.front().token)) {
    for (const auto& sa : retired_.front().sas) forget(*sa);
    retired_.pop_front();
  }
}

void Ipsec::ipsec_resync_begin() {
  if (++generation_ == 0) generation_ = 1;
  ++statistics_.resyncs;
  resyncing_ = true;
  told_sas_full_ = told_policies_full_ = false;
}

void Ipsec::ipsec_resync_end() {
  if (!resyncing_) return;
  resyncing_ = false;
  const size_t sas = erase_sas([this](const Entry& entry) {
    return entry.state.origin == RouteOrigin::kLinux && entry.generation != generation_;
  });
  const size_t policies = erase_policies([this](const PolicyEntry& entry) {
    return entry.policy.origin == RouteOrigin::kLinux && entry.generation != generation_;
  });
  statistics_.swept += sas + policies;
  log(LogLevel::kInfo,
      fmt::format("ipsec: Linux's state is read: {} SAs and {} policies, {} old ones gone",
                  sas_.size(), policies_.size(), sas + policies));
}

void Ipsec::tell_once(bool& told, const std::string& line) {
  if (!std::exchange(told, true)) log(LogLevel::kWarning, line);
}

}  // namespace hecto::router
