#include "router/dataplane/stages/ipsec_stages.hpp"

namespace hecto::router {

Result<std::unique_ptr<IpsecStages>> IpsecStages::create(const Options& options,
                                                         EspOffload* device) {
  auto engine = esp::Engine::create(options.crypto);
  if (!engine) return tl::unexpected(engine.error());
  const EspState state{options.tables, options.mark, options.now_s, engine->get()};
  std::unique_ptr<IpsecStages> stages(new IpsecStages(state, std::move(*engine), device));
  stages->decap.prepare();
  return stages;
}

}  // namespace hecto::router
