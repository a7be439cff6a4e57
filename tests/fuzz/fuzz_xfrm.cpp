// libFuzzer target: the XFRM decoders on arbitrary bytes.
#include <cstdlib>

#include "router/linux/xfrm/decode_policy.hpp"
#include "router/linux/xfrm/decode_sa.hpp"

using namespace hecto::router;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MessageWalker walker({data, size});
  Message message;
  SaState state;
  SaId id;
  IpsecPolicy policy;
  SaProgress progress;
  std::string why;
  while (walker.next(message)) {
    static_cast<void>(xfrm_kind_of(message.header.nlmsg_type));
    if (decode_sa(message, state, why) == XfrmDecoded::kEvent) {
      require(esp::check(state.transform, state.keys).has_value());
      require(state.id.spi != 0 && state.replay_window <= 4096);
    }
    const XfrmDecoded decoded = decode_policy(message, policy, why);
    if (decoded == XfrmDecoded::kEvent || decoded == XfrmDecoded::kStandIn) {
      require(policy.protection.has_value() == (policy.action == hecto::PolicyAction::kProtect));
      require(policy.selector.source.length <= policy.selector.source.address.size() * 8);
    }
    static_cast<void>(decode_sa_removed(message, id));
    static_cast<void>(decode_sas_flushed(message));
    static_cast<void>(decode_policy_removed(message, policy));
    static_cast<void>(decode_policies_flushed(message));
    if (decode_progress(message, progress) == XfrmDecoded::kEvent) {
      require(progress.bitmap_words <= 128);
    }
  }
  return 0;
}
