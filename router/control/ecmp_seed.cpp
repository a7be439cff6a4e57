#include "router/control/ecmp_seed.hpp"

#include <unistd.h>

#include <fstream>

namespace hecto::router {

uint32_t own_ecmp_seed(const std::string& api_socket) {
  std::string box;
  if (!std::getline(std::ifstream("/etc/machine-id"), box) || box.empty()) {
    char name[256] = {};
    (void)gethostname(name, sizeof name - 1);
    box = name;
  }
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : box + '\n' + api_socket)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace hecto::router
