// Where the numbers of SAs stand, in a file of the state directory: ahead of what they have sent, so
// that whoever goes on behind it uses none twice, however this process ends.
//
// A record that is behind is worse than none. When it can be written no more it goes, and the SAs are
// not taken up again. Control only; writing waits for the disk.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/control/state_file.hpp"
#include "router/ipsec/esp/sa_state.hpp"
#include "router/ipsec/sa_numbers.hpp"

namespace hecto::router {

class SaRecord {
 public:
  // Between two writings where no SA is near the end of its reserve.
  static constexpr unsigned kSeconds = 10;
  using Prints = std::map<SaId, uint64_t>;  // which SAs, and the fingerprints of their keys
  static constexpr uint64_t kAnyPrint =
      0;  // of an SA whose keys cannot be had now: its record stays

  explicit SaRecord(std::string path) : file_(std::move(path)) {}

  // What the process before has left; nothing where it is damaged, which is said.
  std::vector<SaNumbers> read();
  // `now`: numbers of SAs that are there. One of `kept` that is not keeps the record that it has.
  Result<void> write(const Prints& kept, const std::vector<SaNumbers>& now, uint64_t reserve);
  void watch(const Prints& kept, const std::vector<SaNumbers>& now);  // each second
  // No worker gives out numbers any more.
  void end(const Prints& kept, const std::vector<SaNumbers>& now);
  const std::string& trouble() const { return trouble_; }  // one line; empty: none

  static const SaNumbers* find(const std::vector<SaNumbers>& all, const SaId& id, uint64_t print);

 private:
  const StateFile file_;
  std::vector<SaNumbers> recorded_, exact_;  // in the file; as they were then
  unsigned seconds_ = 0;                     // since then
  std::string trouble_;
};

}  // namespace hecto::router
