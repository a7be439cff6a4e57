// From XFRM netlink messages to SA states: pure functions from bytes to values.
//
// Hostile bytes give kMalformed, never a read past the end. Keys are copied into esp::Keys and
// nowhere else; the bytes of the message stay the caller's to wipe. Thread-safe: no state.
// Layouts: linux/xfrm.h; which attributes come with what: net/xfrm/xfrm_user.c.
#pragma once

#include <cstdint>
#include <string>

#include "router/ipsec/esp/sa_state.hpp"
#include "router/linux/xfrm/decoded.hpp"

namespace hecto::router {

// XFRM_MSG_NEWSA, UPDSA. `why`: a name for the log, the same for all states of its sort.
XfrmDecoded decode_sa(const Message& message, SaState& out, std::string& why);
// XFRM_MSG_DELSA, and EXPIRE when it is hard (a soft one is ignored).
XfrmDecoded decode_sa_removed(const Message& message, SaId& out);
XfrmDecoded decode_sas_flushed(const Message& message);

// XFRM_MSG_NEWAE: how far an SA has come, as the kernel knows it.
struct SaProgress {
  SaId id;
  uint64_t bytes = 0, packets = 0;
  uint64_t added_s = 0, first_used_s = 0;  // since 1970; 0: never
  uint64_t sequence = 0, replay_sequence = 0;
  bool wide = false;           // told as XFRMA_REPLAY_ESN_VAL
  uint32_t bitmap_words = 0;   // of that
  uint32_t replay_window = 0;  // of that
};
XfrmDecoded decode_progress(const Message& message, SaProgress& out);

}  // namespace hecto::router
