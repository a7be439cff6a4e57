// A packet that ESP works on, between the passes of a batch.
#pragma once

#include <cstdint>

#include "router/ipsec/esp/packet.hpp"

namespace hecto::router::esp {

struct alignas(64) Work {
  Packet* packet;
  Sa* sa;
  uint8_t* esp;            // the ESP header; IV, ciphertext and ICV follow
  uint64_t number;         // extended sequence number
  uint32_t text_bytes;     // of the ciphertext: a multiple of the block
  uint32_t payload_bytes;  // outbound: what is encrypted, without the trailer
  uint32_t header_bytes;   // of the IP headers: inbound before ESP (and UDP), outbound those that
                           // transport mode leaves in front
  uint16_t next_header;    // transport mode: offset of the byte in them that says what follows
  uint8_t protocol;        // outbound: of the payload
  bool failed;

  uint8_t iv[16];  // nonce, and what else the algorithm's counter begins with
  union {
    uint8_t aad[12];       // of an AEAD with ESN: SPI and sequence number
    uint8_t received[32];  // of an HMAC, inbound: the ICV
  };
  uint8_t icv[32];  // inbound: as it should be; outbound: for an engine that writes more of it
};
static_assert(sizeof(Work) == 128);

}  // namespace hecto::router::esp
