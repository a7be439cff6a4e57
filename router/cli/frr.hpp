// FRR's bgpd beside the router: which of several it is, and what vtysh says to it.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace hecto::cli {

// An instance of FRR; an empty name is the one that was started without -N.
struct Frr {
  std::string name;
  std::string words() const { return name.empty() ? "FRR" : "FRR's instance " + name; }
};

// The instance that `asked` names ("default": the one without a name); where it is empty, the one
// that is called as the router's namespace, or else the one without a name. Only one whose bgpd
// runs. The error is a line for the operator.
tl::expected<Frr, std::string> find_frr(const std::string& asked, const std::string& space,
                                        const std::string& folder = "/var/run/frr");

// What vtysh printed for these commands, given one after the other to bgpd. The error is a line:
// no vtysh, no bgpd, or what bgpd did not take.
tl::expected<std::string, std::string> tell_bgpd(const Frr& frr,
                                                 const std::vector<std::string>& commands);

// The first line of vtysh's that is a refusal; empty: there is none.
std::string refusal(const std::string& text);

}  // namespace hecto::cli
