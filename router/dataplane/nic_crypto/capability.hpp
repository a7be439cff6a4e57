// Whether a NIC's capabilities fit an SA: INLINE_CRYPTO of ESP by AES-GCM with 16 bytes of ICV, of
// the SA's key size, mode and direction. Pure.
//
// Not taken: trailers that the NIC makes or removes (the worker does, and checks it), ESN inbound
// (the NIC would have to follow the window for the high half), ESP in UDP over IPv6 (its checksum
// covers the ciphertext).
#pragma once

#include "router/ipsec/esp/sa.hpp"

struct rte_security_capability;

namespace hecto::router {

// `all` ends with action NONE, and may be null. What fits first; null: nothing does.
const rte_security_capability* fitting(const rte_security_capability* all, const esp::Sa& sa,
                                       bool inbound);

}  // namespace hecto::router
