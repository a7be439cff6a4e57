// Routes, SAs and policies of the API that were asked to outlive the process: they lie in a file of
// the state directory, and the next process takes them up again.
//
//   POST with persist ─► beside the file, on the disk ─► Routing, Ipsec ─► renamed ─► answered
//   start ─► file ─► Routing, Ipsec; what cannot be there yet waits, and stands in lines()
//   1 s ─► numbers of the SAs ─► a second file, ahead of what they have sent
//
// A request that cannot be written down is refused before anything is changed. A file that is damaged
// or somebody else's is left alone. An SA without a record of its numbers is not taken up again: it
// would give them out a second time. Control only; a request that keeps waits for the disk.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/control/kept_file.hpp"
#include "router/control/sa_record.hpp"
#include "router/ipsec/esp/sa_state.hpp"
#include "router/ipsec/sa_numbers.hpp"

namespace hecto::router {

class Ipsec;
class RouteControl;
class Routing;
struct RouteTable;

class PersistControl {
 public:
  static constexpr size_t kMostRoutes = 4096, kMostSas = 1024, kMostPolicies = 1024;

  // All outlive it.
  PersistControl(const std::string& directory, const std::string& api_socket, RouteControl& routes,
                 const Routing& routing, Ipsec& ipsec);
  PersistControl(const PersistControl&) = delete;
  PersistControl& operator=(const PersistControl&) = delete;

  // At the start, in this order; `left`: all that is known of SAs' numbers. `holds_ipsec`: whether
  // SAs and policies can be had here.
  std::vector<SaNumbers> numbers_left();
  void restore(const std::vector<SaNumbers>& left, bool holds_ipsec);

  // Of origin API; as in RouteControl and Ipsec, and what took the place of one that was kept is kept
  // only if it asks for it.
  Result<void> add_route(const config::RouteConfig& route, bool persist);
  Result<void> remove_route(const lookup::IpPrefix& prefix, uint32_t metric);
  Result<void> forget_routes();  // before all are removed
  void find_routes();            // behind loads and removals by list: which are there still
  void forget_waiting(const RouteTable& listed);  // before a removal by list: it finds none of them
  Result<void> add_sa(config::IpsecSaConfig sa, SaState state, bool persist);
  Result<void> remove_sa(const SaId& id);
  Result<void> add_policy(const config::IpsecPolicyConfig& policy, bool persist);
  Result<void> remove_policy(const config::IpsecPolicyConfig& policy);

  void tick();  // each second
  void end();   // when no worker gives out numbers any more

  // Of routes, SAs and policies of origin API.
  bool keeps(const lookup::IpPrefix& prefix, uint32_t metric) const {
    return file_.keeps(prefix, metric);
  }
  bool keeps(const SaId& id) const { return prints_.contains(id); }
  bool keeps(const IpsecPolicy& policy) const { return file_.keeps(policy); }
  // What is not as it was asked, now.
  std::vector<std::string> lines() const;

 private:
  using Items = config::KeptItems;

  void restore_sas(const std::vector<SaNumbers>& left);
  void drop_routes(const std::function<bool(const config::RouteConfig&)>& gone);
  void leave_out(const std::string& name, const std::string& why);

  std::vector<SaNumbers> numbers_now() const;

  KeptFile file_;
  SaRecord numbers_;
  RouteControl& routes_;
  const Routing& routing_;
  Ipsec& ipsec_;
  SaRecord::Prints prints_;                      // of the SAs that are kept
  std::map<std::string, std::string> left_out_;  // what is kept and not there, by name: why
};

}  // namespace hecto::router
