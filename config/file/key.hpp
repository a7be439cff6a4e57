// How a key of the file is declared: as one row of its section's table in keys.cpp. The row says
// name, type, range, when a change applies and what the manual says; from the member that it points
// to come the default, reading, printing and comparing. What a row cannot say (a list, a map, a
// rule that takes several keys) its section reads by hand, and takes the range from the row.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/file/addresses.hpp"
#include "config/file/reader.hpp"
#include "config/file/words.hpp"

namespace hecto::config {

enum class Change : uint8_t {
  kReload,   // `hecto reload` applies it
  kRestart,  // cannot change while running; of a port: while the port is there
};

struct Range {
  uint64_t low = 0, high = 0;
  std::string_view words = "{low} to {high}";  // of the manual
};

template <typename S>  // the struct that holds the member
struct Key {
  std::string_view name;  // in its map
  std::string_view type;  // in the manual's words
  Range range;
  Change change;
  std::string_view description;
  std::string_view unset = {};   // the default in words, where the member's own does not say it
  std::string_view wanted = {};  // what to add where it is missing; empty: it may be missing
  bool takes_auto = false;       // the word `auto` leaves the member unset
  bool quote = false;            // where YAML would take the text for something else
  bool only_if_changed = false;  // left out where it has its default
  bool compared = true;          // by its text; else its section tells what changed
  bool power_of_two = false;
  std::string (*legal)(const Range&) = nullptr;          // the range in words; null: Range::words
  void (*read)(const Key&, const Value&, S&) = nullptr;  // null: by its section
  std::string (*text)(const S&) = nullptr;  // empty: unset; null: its section prints it

  constexpr Key otherwise(std::string_view words) const {
    Key key = *this;
    key.unset = words;
    return key;
  }
  constexpr Key needed(std::string_view what_to_add) const {
    Key key = *this;
    key.wanted = what_to_add;
    return key;
  }
  constexpr Key if_changed() const {
    Key key = *this;
    key.only_if_changed = true;
    return key;
  }
  constexpr Key or_auto() const {
    Key key = otherwise("auto");
    key.takes_auto = true;
    return key;
  }
  // Printed and compared as `as` says.
  constexpr Key printed(std::string (*as)(const S&)) const {
    Key key = *this;
    key.text = as;
    key.compared = true;
    return key;
  }
  constexpr Key by_section() const {
    Key key = *this;
    key.compared = false;
    return key;
  }
};

template <typename S>
struct Section {
  std::string_view path;  // "ports.*": `*` stands for a name, a number or a place in a list
  std::span<const Key<S>> keys;
  std::span<const std::string_view> names;

  const Key<S>& operator[](std::string_view name) const {
    for (const Key<S>& key : keys)
      if (key.name == name) return key;
    undeclared_key(name, names);
  }
};

// The range in words, as the manual and the API tell it.
std::string range_words(const Range& range);
std::string size_range_words(const Range& range);
std::string bit_rate_range_words(const Range& range);
std::string any_of_words(std::span<const std::string_view> words);  // "off, loose or strict"

// --- what a row takes from its member ---

template <typename T>
struct MemberOf;
template <typename S, typename T>
struct MemberOf<T S::*> {
  using Section = S;
  using Type = T;
};
template <auto kMember>
using SectionOf = typename MemberOf<decltype(kMember)>::Section;
template <auto kMember>
using TypeOf = typename MemberOf<decltype(kMember)>::Type;

template <typename T>
struct OptionalOf {
  static constexpr bool kIs = false;
  using Type = T;
};
template <typename T>
struct OptionalOf<std::optional<T>> {
  static constexpr bool kIs = true;
  using Type = T;
};

template <typename Enum>
std::span<const std::string_view> legal_words() {
  static const auto words = [] {
    std::array<std::string_view, LegalValues<Enum>::kAll.size()> out;
    for (size_t i = 0; i < out.size(); ++i) out[i] = to_string(LegalValues<Enum>::kAll[i]);
    return out;
  }();
  return words;
}

template <typename Enum>
std::optional<Enum> read_word(const Value& value) {
  const auto which = value.one_of(legal_words<Enum>());
  return which ? std::optional(LegalValues<Enum>::kAll[*which]) : std::nullopt;
}

// Nothing when the value was refused.
template <typename T, typename S>
std::optional<T> read_as(const Key<S>& key, const Value& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.boolean();
  } else if constexpr (std::is_enum_v<T>) {
    return read_word<T>(value);
  } else if constexpr (std::is_same_v<T, MacAddress>) {
    return read_mac(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.text(key.range.words);
  } else {
    static_assert(std::is_integral_v<T>, "a type of member without a reader");
    const auto [low, high, words] = key.range;
    const auto number = key.type == "size"       ? value.size(low, high)
                        : key.type == "bit rate" ? value.bit_rate(low, high)
                                                 : value.integer(low, high);
    if (!number) return std::nullopt;
    if (!key.power_of_two || std::has_single_bit(*number)) return static_cast<T>(*number);
    value.refuse("is not a power of two; use 512, 1024, 2048 or another");
    return std::nullopt;
  }
}

template <auto kMember>
void read_key(const Key<SectionOf<kMember>>& key, const Value& value, SectionOf<kMember>& section) {
  if (key.takes_auto && value.is_word("auto")) return;
  if (auto given = read_as<typename OptionalOf<TypeOf<kMember>>::Type>(key, value))
    section.*kMember = std::move(*given);
}

template <typename T>
std::string member_text(const T& member) {
  if constexpr (std::is_same_v<T, bool>)
    return member ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>)
    return member;
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(member);
  else
    return std::string(to_string(member));
}

template <auto kMember>
std::string key_text(const SectionOf<kMember>& section) {
  if constexpr (OptionalOf<TypeOf<kMember>>::kIs)
    return section.*kMember ? member_text(*(section.*kMember)) : std::string();
  else
    return member_text(section.*kMember);
}

template <auto kMember>
using KeyOf = Key<SectionOf<kMember>>;

template <auto kMember>
constexpr KeyOf<kMember> scalar(std::string_view name, std::string_view type, Range range,
                                Change change, std::string_view description) {
  KeyOf<kMember> key{name, type, range, change, description};
  key.read = read_key<kMember>;
  key.text = key_text<kMember>;
  if (OptionalOf<TypeOf<kMember>>::kIs) key.unset = "none";
  return key;
}

// --- the rows of a table ---

namespace row {

template <auto kMember>
constexpr KeyOf<kMember> integer(std::string_view name, Range range, Change change,
                                 std::string_view description) {
  auto key = scalar<kMember>(name, "integer", range, change, description);
  key.legal = range_words;
  return key;
}
template <auto kMember>
constexpr KeyOf<kMember> power_of_two(std::string_view name, Range range, Change change,
                                      std::string_view description) {
  auto key = integer<kMember>(name, range, change, description);
  key.power_of_two = true;
  return key;
}
template <auto kMember>  // bytes
constexpr KeyOf<kMember> size(std::string_view name, Range range, Change change,
                              std::string_view description) {
  auto key = scalar<kMember>(name, "size", range, change, description);
  key.legal = size_range_words;
  return key;
}
template <auto kMember>  // bits a second
constexpr KeyOf<kMember> bit_rate(std::string_view name, Range range, Change change,
                                  std::string_view description) {
  auto key = scalar<kMember>(name, "bit rate", range, change, description);
  key.legal = bit_rate_range_words;
  key.text = [](const SectionOf<kMember>& section) { return bit_rate_words(section.*kMember); };
  return key;
}
template <auto kMember>
constexpr KeyOf<kMember> boolean(std::string_view name, Change change,
                                 std::string_view description) {
  return scalar<kMember>(name, "boolean", {0, 1, "true or false"}, change, description);
}
template <auto kMember>
constexpr KeyOf<kMember> word(std::string_view name, Change change, std::string_view description) {
  auto key = scalar<kMember>(name, "word", {}, change, description);
  key.legal = [](const Range&) { return any_of_words(legal_words<TypeOf<kMember>>()); };
  return key;
}
template <auto kMember, const auto& kWords>  // of a text that is one of kWords
constexpr KeyOf<kMember> word_of(std::string_view name, Change change,
                                 std::string_view description) {
  auto key = scalar<kMember>(name, "word", {}, change, description);
  key.legal = [](const Range&) { return any_of_words(kWords); };
  key.read = [](const KeyOf<kMember>&, const Value& value, SectionOf<kMember>& section) {
    if (const auto which = value.one_of(kWords)) section.*kMember = kWords[*which];
  };
  return key;
}
template <auto kMember>
constexpr KeyOf<kMember> text(std::string_view name, Range range, Change change,
                              std::string_view description) {
  auto key = scalar<kMember>(name, "text", range, change, description);
  key.legal = range_words;
  key.quote = true;
  return key;
}
// What its section reads.
template <typename S>
constexpr Key<S> structure(std::string_view name, std::string_view type, std::string_view unset,
                           Range range, Change change, std::string_view description) {
  Key<S> key{name, type, range, change, description, unset};
  key.legal = range_words;
  key.compared = false;
  return key;
}

}  // namespace row

// --- what is done with a section ---

struct ByHand {
  std::string_view name;
  std::function<void(const Value&)> read;  // empty: it was read already
};

// Every key that is there, in the table's order, but those of structures that are not in `by_hand`.
template <typename S>
void read_keys(const Fields& fields, const Section<S>& section, S& target,
               std::initializer_list<ByHand> by_hand = {}) {
  for (const ByHand& own : by_hand) section[own.name];  // has to be declared
  for (const Key<S>& key : section.keys) {
    const Value* value =
        key.wanted.empty() ? fields.get(key.name) : fields.need(key.name, key.wanted);
    if (value == nullptr) continue;
    const ByHand* own = nullptr;
    for (const ByHand& each : by_hand)
      if (each.name == key.name) own = &each;
    if (own != nullptr) {
      if (own->read) own->read(*value);
    } else if (key.read != nullptr) {
      key.read(key, *value, target);
    }
  }
}

// The value as a difference tells it.
template <typename S>
std::string shown(const Key<S>& key, const S& section) {
  std::string text = key.text(section);
  return text.empty() ? std::string(key.unset) : text;
}

// The value as the file writes it; nothing where it is left out.
template <typename S>
std::optional<std::string> written(const Key<S>& key, const S& section) {
  if (key.text == nullptr) return std::nullopt;
  std::string text = key.text(section);
  if (key.only_if_changed && text == key.text(S{})) return std::nullopt;
  if (text.empty()) return key.takes_auto ? std::optional<std::string>("auto") : std::nullopt;
  return key.quote ? config::quoted(text) : text;  // not <iomanip>'s
}

// {mtu: 1500, urpf: off}
template <typename S>
std::string flow_map(const Section<S>& section, const S& values) {
  std::string out;
  for (const Key<S>& key : section.keys)
    if (const auto text = written(key, values)) {
      out += out.empty() ? "" : ", ";
      out.append(key.name).append(": ").append(*text);
    }
  return "{" + out + "}";
}

}  // namespace hecto::config
