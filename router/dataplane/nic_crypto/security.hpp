// A port's security context (rte_security) as inline crypto of ESP needs it, and its flow rules:
// all of DPDK's calls, whose signatures differ from 22.11 to 23.11 and later.
//
// Control thread, but for set_metadata(). Keys are lent to the driver for as long as a session
// lives: some read them again when a rule is made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "router/dataplane/nic_crypto/nic_sa.hpp"
#include "router/ipsec/esp/sa.hpp"

struct rte_flow;
struct rte_mbuf;
struct rte_mempool;
struct rte_security_capability;

namespace hecto::router {

// Null: the port's driver has none.
void* security_context(PortId port);

class NicSecurity {
 public:
  static constexpr unsigned kMostSessions = 2047;  // of a port, both ways

  // `name`: of the port. `context` lives until this is destroyed, all sessions before.
  static Result<std::unique_ptr<NicSecurity>> open(void* context, const std::string& name);
  ~NicSecurity();
  NicSecurity(const NicSecurity&) = delete;
  NicSecurity& operator=(const NicSecurity&) = delete;

  // Ends with action NONE; null: none.
  const rte_security_capability* capabilities() const;
  void* context() const { return context_; }

  Result<void*> create(const esp::Sa& sa, const esp::Keys& keys, bool inbound);
  Result<void> destroy(void* session);

 private:
  NicSecurity(void* context, uint32_t session_bytes, rte_mempool* pool)
      : context_(context), session_bytes_(session_bytes), pool_(pool) {}
  void* context_;
  uint32_t session_bytes_;
  rte_mempool* pool_;
};

// What a rule's action SECURITY points at. Drivers read it as the session, ixgbe since DPDK 26.03
// as a struct with a pointer to it, as rte_flow.h has it: this is both.
const void* security_action(void* session);

// Gives a port's ESP of that SA to the session (action SECURITY). Null: the driver has no flow
// rules, and goes by the session's own SPI.
Result<rte_flow*> create_security_rule(PortId port, const esp::Sa& sa, void* session);
void destroy_security_rule(PortId port, rte_flow* rule);

// Of a packet with its last layout but for the ICV. `number`: of 64 bits. Workers.
bool set_metadata(const NicSession& session, rte_mbuf* packet, uint64_t number) noexcept;

}  // namespace hecto::router
