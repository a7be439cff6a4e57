// A NIC with inline crypto that is not there: a security context with operations of its own, and
// the part of the hardware, played by OpenSSL on what lies in the mbufs.
#pragma once

// clang-format off
#include "router/dataplane/core/dpdk_security.hpp"
#include <rte_security_driver.h>
// clang-format on

#include <array>
#include <functional>
#include <map>
#include <vector>

#include "router/dataplane/nic_crypto/sessions.hpp"

namespace hecto::router::test {

class ScriptedNic {
 public:
  explicit ScriptedNic(PortId port = 1);
  ~ScriptedNic();
  ScriptedNic(const ScriptedNic&) = delete;
  ScriptedNic& operator=(const ScriptedNic&) = delete;

  struct Session {
    void* object;
    Spi spi;
    bool inbound, tunnel, esn, udp;
    std::vector<uint8_t> key;
    std::array<uint8_t, 4> salt;
    const uint8_t* lent;  // where the key lay
    rte_flow* rule = nullptr;
    bool ended = false;
  };
  std::vector<Session> sessions;         // all that were ever made
  std::vector<const char*> calls;        // in order
  std::map<rte_mbuf*, Session*> queued;  // by what set_pkt_metadata was told
  std::map<rte_mbuf*, uint64_t> numbers;

  // The script.
  bool refuses_sessions = false, refuses_rules = false, has_rules = true;
  bool refuses_metadata = false, refuses_to_end = false;
  bool link_up = true;
  std::function<void()> on_metadata;  // between the choice of a session and the port's queue
  // All of AES-GCM with keys of 16 and 32 bytes, but for what is said otherwise.
  std::vector<rte_security_capability> offers;
  rte_security_capability& offer(bool inbound, bool tunnel);

  NicSessions::Port port();
  void* context() { return &context_; }
  unsigned alive() const;
  const Session* alive(Spi spi) const;  // null: none

  // What goes out, as the NIC would change it, by its session. False: it has no session of it.
  bool seal(rte_mbuf* packet);
  // What comes in. False: it knows no session of it, and leaves it alone.
  bool open(rte_mbuf* packet);

 private:
  static ScriptedNic& of(void* device) { return *static_cast<ScriptedNic*>(device); }
  static int create(void* device, rte_security_session_conf* conf, rte_security_session* session);
  static int destroy(void* device, rte_security_session* session);
  static int set_metadata(void* device, rte_security_session* session, rte_mbuf* packet,
                          void* parameters);
  Result<rte_flow*> create_rule(void* session);
  void destroy_rule(rte_flow* rule);
  Session* find(const void* object);

  PortId port_;
  std::array<rte_cryptodev_capabilities, 2> crypto_{};
  rte_security_ops ops_{};
  rte_security_ctx context_{};
};

}  // namespace hecto::router::test
