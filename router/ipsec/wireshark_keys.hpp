// Keys of SAs as Wireshark reads them: the file `esp_sa` of a profile, one line an SA
// (Preferences ─ Protocols ─ ESP ─ ESP SAs).
//
// Only for operators who asked for it in the file (`ipsec.export_keys`). What is made lies in
// memory that is kept out of core dumps and wiped.
#pragma once

#include "base/secret_memory.hpp"
#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router {

// Algorithms that Wireshark has no name for become a comment without their key.
void append_esp_sa(const SaState& sa, const esp::Keys& keys, SecretBytes& out);

}  // namespace hecto::router
