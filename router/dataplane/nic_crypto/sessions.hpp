// Sessions on ports' NICs, one for each SA that fits, on each port that offers its direction.
//
//   inbound (to one of our addresses)      session, flow rule ──► NicSa::opens
//   outbound (from one of our addresses)   session ─────────────► NicSa::seals
//
// From its making on a session occupies its SPI on its port, and none is made beside it: drivers
// find what they remove by the SPI alone, and what a NIC has opened is known by it. It ends
//   inbound    with the SA's leaving: workers never touch it. Its SPI stays occupied for kDrain_s,
//              until the receive rings hold nothing more that was opened by it
//   outbound   when no worker holds the SA (forget) and the port's link was up for kDrain_s in a
//              row since then: what was in handoff and transmit rings has left. A port that stops
//              frees its rings, and ends all
// The keys live in key memory as long as a session of theirs does.
//
// Owned by the control thread; not thread-safe.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log_level.hpp"
#include "router/dataplane/nic_crypto/security.hpp"
#include "router/ipsec/nic_crypto.hpp"

namespace hecto::router {

struct NicPortView {
  std::string name;
  uint32_t sessions = 0;  // also those that are still to end
  uint64_t refused = 0;   // by the driver: these SAs go by CPU
};

class NicSessions final : public NicCrypto {
 public:
  static constexpr uint32_t kDrain_s = 10;

  struct Options {
    std::function<bool(const IpAddress&)> own;  // whether it is the router's
    std::function<uint32_t()> now_s;
    std::function<void(LogLevel, const std::string&)> log;
  };
  struct Rules {
    std::function<Result<rte_flow*>(PortId port, const esp::Sa&, void* session)> create =
        create_security_rule;
    std::function<void(PortId port, rte_flow*)> destroy = destroy_security_rule;
  };
  struct Port {
    PortId id = 0;
    std::string name;
    void* context = nullptr;
    bool opens = false, seals = false;  // offloads that were given
    std::function<bool()> link_up;
    Rules rules;
  };

  explicit NicSessions(Options options) : options_(std::move(options)) {}
  ~NicSessions() override;
  NicSessions(const NicSessions&) = delete;
  NicSessions& operator=(const NicSessions&) = delete;

  // A port that runs. The SAs that are there already must be offered to it: Ipsec::offer_to_nics().
  Result<void> add_port(const Port& port);
  // The port is to go: no packet is given to it from now on, and no rule points at it.
  void withdraw(PortId port);
  // It has stopped, and no worker knows it: its sessions end.
  void drop_port(PortId port);

  void add(esp::Sa& sa, const std::shared_ptr<const esp::Keys>& keys) override;
  void leave(esp::Sa& sa) override;
  void forget(const esp::Sa& sa) override;
  NicUse use(const esp::Sa& sa) const override;

  void tick();  // about once a second: ends what has drained, makes what had to wait
  // While it is, packets that a NIC has opened may come.
  bool busy() const;
  std::vector<NicPortView> ports() const;  // by number

 private:
  struct Nic;
  struct Slot {
    bool inbound;
    Spi spi;
    auto operator<=>(const Slot&) const = default;
  };
  struct Session {
    NicSession live;
    Nic* nic;
    Slot slot;
    rte_flow* rule = nullptr;
    uint32_t link_up_s = 0;  // in a row, since nobody holds the SA
  };
  using Sessions = std::vector<std::unique_ptr<Session>>;
  struct Entry {
    esp::Sa* sa = nullptr;  // null: forgotten
    std::shared_ptr<const esp::Keys> keys;
    NicSa live;
    bool left = false;
    uint64_t tried = 0;  // bit by port: that made a session, or refused
    Sessions sessions;
  };
  struct Nic {
    Port port;
    std::unique_ptr<NicSecurity> security;
    std::map<Slot, uint32_t> occupied;  // until that second; kSession: while it lives
    uint32_t sessions = 0;
    uint64_t refused = 0;
    bool going = false;
  };
  static constexpr uint32_t kSession = ~uint32_t{0};

  bool useful(const esp::Sa& sa) const;
  void equip(Entry& entry);
  void equip(Entry& entry, Nic& nic, bool inbound);
  Result<void> publish(Entry& entry, Session& session);
  void end(Session& session, uint32_t occupied_s);
  template <typename Which>
  void end_all(Sessions& sessions, uint32_t occupied_s, Which which);

  Options options_;
  std::map<PortId, Nic> nics_;
  std::unordered_map<const esp::Sa*, std::unique_ptr<Entry>> entries_;
  std::list<std::unique_ptr<Entry>> draining_;
};

}  // namespace hecto::router
