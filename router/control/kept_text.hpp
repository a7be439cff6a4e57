// What the API was asked to keep, as the text of a file: a first line with its version, the instance
// that it is of, config's words, a checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/secret_memory.hpp"
#include "config/file/kept_items.hpp"

namespace hecto::router {

// FNV-1a, against what disks and editors do to a text: no signature.
uint64_t text_sum(std::string_view text);

SecretBytes kept_text(const config::KeptItems& items, const std::string& api_socket);
// Errors say what is wrong, without the file's name.
Result<config::KeptItems> kept_items_from(std::string_view text, const std::string& api_socket);

}  // namespace hecto::router
