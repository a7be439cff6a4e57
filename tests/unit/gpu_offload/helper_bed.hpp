// A helper with a fault (faulty_helper.cpp), and the file that is the fault.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "gpu_offload/devices/helper.hpp"
#include "tests/unit/gpu_offload/fixture.hpp"

namespace hecto::gpu_offload {

inline constexpr uint64_t kMs = 1'000'000;
// Where nothing is to be late: a machine with few CPUs may be busy.
inline constexpr uint64_t kPatience = 30 * kSecond;

// The file whose presence is the fault, and what the helper says of itself beside it.
class Fault {
 public:
  Fault() {
    char name[] = "/tmp/hecto-fault-XXXXXX";
    close(mkstemp(name));
    file_ = name;
  }
  ~Fault() {
    mend();
    std::filesystem::remove(file_ + ".pid");
  }
  void mend() { std::filesystem::remove(file_); }
  const std::string& file() const { return file_; }
  pid_t child() const { return read().first; }
  pid_t keeper() const { return read().second; }

 private:
  std::pair<pid_t, pid_t> read() const {
    std::pair<pid_t, pid_t> pids{0, 0};
    std::ifstream(file_ + ".pid") >> pids.first >> pids.second;
    return pids;
  }
  std::string file_;
};

inline std::unique_ptr<Device> faulty(const std::string& name, const Fault& fault,
                                      uint64_t patience_ns = kPatience) {
  const uint64_t update_ns = name == "never-updates" ? 500 * kMs : patience_ns;
  auto device = HelperDevice::open(name + ":" + fault.file(),
                                   {HECTO_FAULTY_HELPER, {}, patience_ns, update_ns});
  EXPECT_TRUE(device) << device.error();
  return device ? std::move(*device) : nullptr;
}

}  // namespace hecto::gpu_offload
