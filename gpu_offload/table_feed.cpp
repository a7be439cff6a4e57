#include "gpu_offload/table_feed.hpp"

namespace hecto::gpu_offload {

uint64_t DeviceReaders::start() noexcept {
  Moment moment{workers_.start(), {}};
  for (const TableFeed* feed : feeds_) moment.generations.push_back(feed->awaited());
  moments_.push_back(std::move(moment));
  return first_ + moments_.size() - 1;
}

bool DeviceReaders::passed(const Moment& moment) noexcept {
  for (size_t i = 0; i < moment.generations.size(); ++i) {
    if (!feeds_[i]->passed(moment.generations[i])) return false;
  }
  return workers_.passed(moment.workers);
}

// Moments pass in their order.
bool DeviceReaders::passed(uint64_t token) noexcept {
  while (!moments_.empty() && first_ <= token && passed(moments_.front())) {
    moments_.pop_front();
    ++first_;
  }
  return token < first_;
}

}  // namespace hecto::gpu_offload
