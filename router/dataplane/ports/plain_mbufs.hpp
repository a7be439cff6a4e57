// Whose receive queues give plain mbufs: each packet direct mbufs of the queue's own pool, with one
// reference. A driver that frees "fast" puts what it has sent back there without a look.
#pragma once

#include <cstdint>
#include <string_view>

namespace hecto::router {

// `tx_offloads`: what the driver can, which tells of mlx5 whether it lends its buffers.
bool receives_plain_mbufs(std::string_view driver, uint64_t tx_offloads) noexcept;

}  // namespace hecto::router
