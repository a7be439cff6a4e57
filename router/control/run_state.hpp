// What a run leaves to the next one of the same service, beside its twins: what it wrote into Linux,
// so that the next takes back what its file says no more, and what it forwarded by.
//
// Kept as text in two memory files that the service manager holds ("state-0", "state-1"), written in
// turn: one that was cut off while it was written leaves the other. Control only.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/net.hpp"
#include "lookup/prefix.hpp"
#include "router/ipsec/sa_numbers.hpp"

namespace hecto::router {

class InterfaceTable;
class LinuxSide;
class ServiceManager;
struct Running;

struct RunState {
  struct Address {
    std::string interface;
    lookup::IpPrefix address;
    bool operator==(const Address&) const = default;
  };
  struct Neighbor {
    std::string interface;
    lookup::IpAddress address;
    bool operator==(const Neighbor&) const = default;
  };
  std::vector<Address> addresses;
  std::vector<Neighbor> neighbors;
  // A line a port and an interface: names and numbers. The same numbers mean the same in both runs.
  std::vector<std::string> numbers;
  std::vector<SaNumbers> sas;  // of the file's and the API's SAs
  uint64_t count = 0;          // of writings
  std::string tables;          // the run whose tables are whole (Tables::run()); empty: none's

  bool operator==(const RunState&) const = default;
};

// What the bytes of tables mean to this hectod: the first of RunState::numbers.
std::string table_layout(uint32_t groups);
RunState state_of(const Running& running, const InterfaceTable& interfaces);

// Off adopted twins goes what the run before put there and `now` has no more.
void take_back(const RunState& before, const RunState& now, const InterfaceTable& interfaces,
               LinuxSide& linux_side);

std::string to_text(const RunState& state);
// None where it is cut, changed, or of another version.
std::optional<RunState> run_state_from(const std::string& text);

class RunStateKeeper {
 public:
  // Takes what the run before has left.
  explicit RunStateKeeper(ServiceManager& service);

  const std::optional<RunState>& before() const { return before_; }
  bool damaged() const { return damaged_; }  // there was one, which says nothing
  // For the next run. Writes where it is not as it was.
  void keep(const RunState& state);

 private:
  bool have_files();

  ServiceManager& service_;
  std::array<FileDescriptor, 2> files_;
  uint64_t count_ = 0;  // of the newest
  std::optional<RunState> before_, kept_;
  bool damaged_ = false;
};

}  // namespace hecto::router
