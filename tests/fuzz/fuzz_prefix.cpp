// Any text: it is taken exactly when inet_pton takes it, and what is taken is written in a form
// that reads back as the same.
#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lookup/prefix.hpp"

namespace {

using namespace hecto::lookup;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find('\0') == std::string::npos) {
    in_addr four;
    in6_addr six;
    require(Ipv4Address::parse(text).has_value() == (inet_pton(AF_INET, text.c_str(), &four) == 1),
            "IPv4: disagrees with inet_pton");
    auto address = Ipv6Address::parse(text);
    require(address.has_value() == (inet_pton(AF_INET6, text.c_str(), &six) == 1),
            "IPv6: disagrees with inet_pton");
    if (address) {
      char written[INET6_ADDRSTRLEN];
      inet_ntop(AF_INET6, &six, written, sizeof(written));
      require(address->to_string() == written, "IPv6: disagrees with inet_ntop");
    }
  }
  if (auto prefix = IpPrefix::parse(text)) {
    require(IpPrefix::parse(prefix->to_string()) == prefix, "a prefix reads back differently");
  }
  if (auto prefix = IpPrefix::parse_interface(text)) {
    require(IpPrefix::parse_interface(prefix->to_string()) == prefix,
            "an interface address reads back differently");
    require(prefix->contains(prefix->address), "a prefix lacks its own address");
  }
  return 0;
}
