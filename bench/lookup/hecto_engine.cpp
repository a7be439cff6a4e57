#include "bench/lookup/hecto_engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {

template <typename Family>
Result<std::unique_ptr<HectoEngine<Family>>> HectoEngine<Family>::create(unsigned batch) {
  std::unique_ptr<HectoEngine> engine(new HectoEngine);
  engine->socket_ = std::max(0, static_cast<int>(rte_socket_id()));
  lookup::FibOptions options;
  options.sockets = {engine->socket_};
  auto fib = Family::Fib::create(options, engine->memory_, engine->readers_);
  if (!fib) return fail(fmt::format("hecto: {}", lookup::to_string(fib.error())));
  engine->fib_ = std::move(*fib);
  engine->groups_.resize(batch);
  return engine;
}

template class HectoEngine<Ipv4>;
template class HectoEngine<Ipv6>;

}  // namespace hecto::bench
