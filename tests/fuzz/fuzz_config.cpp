// Any bytes as a configuration: refused in words, or a configuration that survives being written
// out and read again, differs in nothing from what is read then, and whose filters can be judged.
// Keys of SAs are not written out: with such it is only written.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/file/diff.hpp"
#include "config/file/filter_check.hpp"
#include "config/file/load.hpp"
#include "config/file/to_yaml.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hecto::config;
  auto config = parse({reinterpret_cast<const char*>(data), size}, "/etc/hecto/fuzz.yaml");
  if (!config) {
    if (config.error().empty()) std::abort();
    return 0;
  }
  const std::string written = to_yaml(*config);
  if (!config->ipsec.sas.empty()) return 0;
  auto again = parse(written, config->file);
  if (!again || !(*again == *config)) std::abort();
  const auto difference = diff(*config, *again);
  if (!difference || !difference->empty()) std::abort();
  check_filters(*config);
  return 0;
}
