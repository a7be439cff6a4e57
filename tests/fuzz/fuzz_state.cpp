// What one run leaves to the next, of any bytes: none of it, or what is written again as it was. With
// its checksum set right, as a fuzzer finds none: both texts, that of the service manager's memory
// file and that of the state directory.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "router/control/kept_text.hpp"
#include "router/control/run_state.hpp"

namespace {

using namespace hecto;
using namespace hecto::router;

void read_state(const std::string& text) {
  const auto state = run_state_from(text);
  if (!state) return;
  const auto again = run_state_from(to_text(*state));
  if (!again || *again != *state) __builtin_trap();
}

void read_kept(const std::string& text) {
  const auto items = kept_items_from(text, "/s");
  if (!items) return;
  const SecretBytes written = kept_text(*items, "/s");
  const auto again = kept_items_from(std::string(written.begin(), written.end()), "/s");
  if (!again || *again != *items) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string summed = text + fmt::format("sum {:016x}\n", text_sum(text));
  for (const std::string& one : {text, summed}) {
    read_state(one);
    read_kept(one);
  }
  return 0;
}
