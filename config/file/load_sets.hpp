// Reads `sets:` and `policers:`.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_sets(const Value& value, Loading& loading);
void load_policers(const Value& value, Loading& loading);

// Of a set, a policer, a filter or a rule: letters, digits, - and _, a letter first. `any` is none.
bool is_filter_name(std::string_view name);
std::string filter_name_words(std::string_view of);  // what to say of another

// A DSCP as a word or a number.
std::optional<uint8_t> read_dscp(const Value& value, std::string_view or_else = {});

}  // namespace hecto::config
