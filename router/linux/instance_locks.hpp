// What a router holds on its machine so that no second one takes it away: its API socket, each
// device, the Linux namespace. A file with a lock (flock) each, in one folder; the kernel lets go
// of the locks of a process that ends, however it ends. In a file stands "PID"; behind it
// " xdp ID" while the XDP program ID is the router's on that device, and " off IFINDEX NAME,…" while
// the router has turned off these features of that interface, which were on.
//
// Taken before anything of the kernel's is touched: who meets a lock that is held has done nothing.
//
// Control thread only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"

namespace hecto::router {

// What of an interface's features was on before a router came, and is to be on when it has gone.
struct FeaturesOff {
  int ifindex = 0;
  std::vector<std::string> names = {};  // as ethtool -k has them; empty: nothing was
  bool operator==(const FeaturesOff&) const = default;
};

// What a lock file says; none where it is not one of ours.
struct LockText {
  pid_t pid = 0;
  uint32_t xdp_program = 0;  // 0: none
  FeaturesOff off = {};
  std::string to_string() const;
  static std::optional<LockText> parse(std::string_view text);
};

class InstanceLocks {
 public:
  // Root's is one for the machine; others' lies beside their API socket.
  static std::string folder_for(const std::string& api_socket);
  // Makes the folder, which must be ours and nobody else's to write.
  static Result<std::unique_ptr<InstanceLocks>> open(const std::string& folder);
  ~InstanceLocks();  // releases all
  InstanceLocks(const InstanceLocks&) = delete;
  InstanceLocks& operator=(const InstanceLocks&) = delete;

  // `subject` is what it stands for, in words: "port wan0 (eth1)". EWOULDBLOCK: another process has
  // it, which the line names. A key that is held already is no error.
  Result<void> take(const std::string& key, const std::string& subject);
  void release(const std::string& key);
  bool holds(const std::string& key) const { return held_.contains(key); }

  // The XDP program that a router which is dead left on this device; 0: none.
  uint32_t inherited_program(const std::string& key) const;
  void note_program(const std::string& key, uint32_t program);  // 0: none
  // Noted on this device, by this router or by one that is dead.
  FeaturesOff features_off(const std::string& key) const;
  void note_features_off(const std::string& key, const FeaturesOff& off);  // no names: forgets

  // Removes files of the dead: with our text, the lock free, the process gone, and the program that
  // they name, too, and no features left off. Others' files stay. How many went.
  size_t sweep() const;

 private:
  struct Held {
    FileDescriptor file;
    LockText text;
    uint32_t inherited_program = 0;
  };

  explicit InstanceLocks(std::string folder) : folder_(std::move(folder)) {}
  std::string path_of(const std::string& key) const;

  const std::string folder_;
  std::map<std::string, Held> held_;  // by key
};

// A key as the name of a file: what is no letter, digit, '.', '-', '_' or ':' is escaped, and what
// would be too long for a name is cut and ends in a hash of the whole.
std::string lock_file_name(const std::string& key);

}  // namespace hecto::router
