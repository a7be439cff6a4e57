// The kernel's algorithms (net/xfrm/xfrm_algo.c: canonical names) as ESP's transforms. For
// decode_sa.cpp alone.
#pragma once

#include <string>

#include "router/ipsec/esp/sa_state.hpp"
#include "router/linux/xfrm/decoded.hpp"

namespace hecto::router::detail {

// Fills transform and keys from XFRMA_ALG_*; kIgnored where there are none.
struct XfrmAlgorithms {
  Bytes aead, cipher, integrity, truncated;  // the attributes' payloads; empty: not there
};
XfrmDecoded read_algorithms(const XfrmAlgorithms& from, SaState& out, std::string& why);

}  // namespace hecto::router::detail
