// Which thread sends by which transmit queue of a port. A driver may have fewer queues than there are
// threads: those without one hand their packets to a worker that has one, all others send by
// themselves. A plain function of the port and the box.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/net.hpp"

namespace hecto::router {

struct TransmitShare {
  QueueId queue = 0;
  std::optional<unsigned> owner;  // the worker that sends for it; none: the queue is its own
};

struct TransmitThread {
  int socket = 0;
  bool receives = false;  // from this port
};

// `threads`: the workers, and the slow path as the last one. Queues go to workers that receive from
// the port first, then to those of its socket; the slow path comes last. Who hands over does so
// within its socket where it can, to whom fewest do. `queues` is 1 or more.
std::vector<TransmitShare> share_transmit_queues(unsigned queues,
                                                 const std::vector<TransmitThread>& threads,
                                                 int socket);

}  // namespace hecto::router
