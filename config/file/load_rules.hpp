// Reads `vrfs:` and `rules:`, and what names a VRF or a table elsewhere.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_vrfs(const Value& value, Loading& loading);
void load_rules(const Value& value, Loading& loading);
// Null: there is no such VRF, and that was refused.
const VrfConfig* read_vrf(const Value& value, Loading& loading);
std::optional<uint32_t> read_table(const Value& value, const Loading& loading);
// "did you mean red?", or what there is; `known` has at least one.
std::string instead(std::string_view word, const std::vector<std::string_view>& known);
// All tables of the file together.
void check_tables(Loading& loading);

}  // namespace hecto::config
