#include "config/file/load_ipsec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "config/file/addresses.hpp"
#include "config/file/key_file.hpp"
#include "config/file/keys.hpp"
#include "config/file/load_ipsec_policies.hpp"

namespace hecto::config {
namespace {

const IpsecAlgorithm* read_algorithm(const Value& value,
                                     std::span<const IpsecAlgorithm> algorithms) {
  for (const IpsecAlgorithm& algorithm : algorithms)
    if (value.is_word(algorithm.name)) return &algorithm;
  std::string names;
  for (const IpsecAlgorithm& algorithm : algorithms)
    names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
  value.complain("no algorithm that is known; use " + names);
  return nullptr;
}

// What `key` says must be `bytes` long; nothing of it is told.
std::optional<SecretKey> checked(const Value& value, const std::optional<SecretKey>& key,
                                 unsigned bytes, std::string_view of) {
  const std::string right =
      fmt::format("{} takes {} bytes: 0x and {} hex digits", of, bytes, 2 * bytes);
  if (!key)
    value.complain(fmt::format("not a key; {}", right));
  else if (key->size() != bytes)
    value.complain(fmt::format("a key of {} bytes; {}", key->size(), right));
  else
    return key;
  return std::nullopt;
}

void read_inline_key(const Value* value, unsigned bytes, std::string_view field,
                     std::string_view of, const Value& map, SecretKey& key) {
  if (bytes == 0) {
    if (value != nullptr) value->complain(fmt::format("{} takes no key; take it out", of));
  } else if (value == nullptr) {
    map.complain(fmt::format("has no {}; add it, or key_file", field));
  } else if (value->is_word("set")) {
    value->complain("what stands for a key that is not shown; write the key, or use key_file");
  } else if (auto read = checked(*value, SecretKey::parse(value->word()), bytes, of)) {
    key = *read;
  }
}

// The cipher's key, then that of integrity, with blanks between.
void read_keys_of_file(const Value& value, const IpsecAlgorithm& cipher,
                       const IpsecAlgorithm* integrity, const KeyFiles& files, IpsecSaConfig& sa) {
  const auto path = key_file_path(value, files);
  if (!path) return;
  sa.key_file = *path;
  auto text = read_key_file(value, *path, files, "one or two keys, as 0x0123");
  if (!text) return;
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text->size();) {
    const size_t start = text->find_first_not_of(" \t\r\n", at);
    if (start == std::string::npos) break;
    at = std::min(text->find_first_of(" \t\r\n", start), text->size());
    words.push_back(std::string_view(*text).substr(start, at - start));
  }
  const size_t wanted = (cipher.key_bytes != 0) + (integrity != nullptr);
  if (words.size() != wanted) {
    value.refuse(fmt::format("holds {} keys; {} wanted: {}", words.size(), wanted,
                             wanted == 2             ? "the cipher's, then that of integrity"
                             : cipher.key_bytes != 0 ? "the cipher's"
                                                     : "that of integrity"));
  } else {
    auto next = words.begin();
    if (cipher.key_bytes != 0)
      if (auto key = checked(value, SecretKey::parse(*next++), cipher.key_bytes, cipher.name))
        sa.cipher_key = *key;
    if (integrity != nullptr)
      if (auto key = checked(value, SecretKey::parse(*next), integrity->key_bytes, integrity->name))
        sa.integrity_key = *key;
  }
  explicit_bzero(text->data(), text->size());
}

void read_crypto(const Value& map, const Fields& fields, const KeyFiles& files, IpsecSaConfig& sa) {
  const Value* name = fields.need("cipher", "one as aes-256-gcm");
  const IpsecAlgorithm* cipher = name == nullptr ? nullptr : read_algorithm(*name, ipsec_ciphers());
  if (cipher == nullptr) return;
  sa.cipher = cipher->name;
  const IpsecAlgorithm* integrity = nullptr;
  const Value* hash = fields.get("integrity");
  if (cipher->aead) {
    if (hash != nullptr) {
      hash->complain(fmt::format("{} protects integrity itself; take it out", cipher->name));
      return;
    }
  } else {
    if (hash == nullptr) {
      map.complain(
          fmt::format("has no integrity, and {} does not protect it; add one as "
                      "hmac-sha2-256",
                      cipher->name));
      return;
    }
    integrity = read_algorithm(*hash, ipsec_integrities());
    if (integrity == nullptr) return;
    sa.integrity = integrity->name;
  }
  const Value* key = fields.get("key");
  const Value* integrity_key = fields.get("integrity_key");
  if (const Value* file = fields.get("key_file")) {
    if (key != nullptr || integrity_key != nullptr)
      file->complain("a key stands here as well; use one of both");
    else
      read_keys_of_file(*file, *cipher, integrity, files, sa);
    return;
  }
  read_inline_key(key, cipher->key_bytes, "key", cipher->name, map, sa.cipher_key);
  read_inline_key(integrity_key, integrity == nullptr ? 0 : integrity->key_bytes, "integrity_key",
                  integrity == nullptr ? cipher->name : integrity->name, map, sa.integrity_key);
}

void read_lifetime(const Value& value, IpsecLifetime& lifetime) {
  Fields fields(value, lifetime_keys.names, "a map, as {soft_bytes: 90GB, hard_bytes: 100GB}");
  using Limit = std::optional<uint64_t> IpsecLifetime::*;
  // A hard limit is read behind its soft one.
  auto pair = [&](std::string_view unit, std::string_view key, Limit soft, Limit hard) {
    auto read = [&, key, unit, soft, hard](const Value& given) {
      lifetime_keys[key].read(lifetime_keys[key], given, lifetime);
      if (lifetime.*soft && lifetime.*hard && *(lifetime.*soft) > *(lifetime.*hard))
        fields.get(fmt::format("soft_{}", unit))
            ->refuse(fmt::format("is above hard_{}; use at most that", unit));
    };
    return ByHand{key, read};
  };
  using L = IpsecLifetime;
  read_keys(fields, lifetime_keys, lifetime,
            {pair("bytes", "hard_bytes", &L::soft_bytes, &L::hard_bytes),
             pair("packets", "hard_packets", &L::soft_packets, &L::hard_packets),
             pair("add_s", "hard_add_s", &L::soft_add_s, &L::hard_add_s),
             pair("use_s", "hard_use_s", &L::soft_use_s, &L::hard_use_s)});
}

void read_encapsulation(const Value& value, UdpEncapsulation& encapsulation) {
  Fields fields(value, encapsulation_keys.names,
                "a map, as {source_port: 4500, destination_port: 4500}");
  read_keys(fields, encapsulation_keys, encapsulation);
}

std::optional<IpsecSaConfig> read_sa(const Value& value, const KeyFiles& files,
                                     bool* persist = nullptr) {
  const auto known = api_names(sa_keys.names, persist);
  Fields fields(value, known,
                "a map, as {source: 192.0.2.1, destination: 198.51.100.1, "
                "spi: 0x1001, cipher: aes-256-gcm, key_file: a.key}");
  read_persist(fields, persist);
  IpsecSaConfig sa;
  const Value* source = fields.need("source", "the address of the sending end");
  const Value* destination = fields.need("destination", "the address of the receiving end");
  const Value* spi = fields.need("spi", "one as 0x1001");
  auto from = source == nullptr ? std::nullopt : read_unicast(*source);
  auto to = destination == nullptr ? std::nullopt : read_unicast(*destination);
  auto index = spi == nullptr ? std::nullopt : read_spi(*spi);
  if (from && to && from->family != to->family)
    destination->refuse("is not of the family of source; use two addresses of one family");
  read_keys(fields, sa_keys, sa);
  if (const Value* lifetime = fields.get("lifetime")) read_lifetime(*lifetime, sa.lifetime);
  if (const Value* encapsulation = fields.get("encapsulation"))
    read_encapsulation(*encapsulation, sa.encapsulation.emplace());
  read_crypto(value, fields, files, sa);
  if (!from || !to || !index) return std::nullopt;
  sa.source = *from;
  sa.destination = *to;
  sa.spi = *index;
  return sa;
}

void load_sas(const Value& value, Loading& loading) {
  IpsecConfig& ipsec = loading.config.ipsec;
  std::map<std::pair<IpAddress, uint32_t>, uint32_t> seen;
  for (const Value& item : value.items("a list of SAs")) {
    auto sa = read_sa(item, {loading.config.file, loading.limits.file});
    if (!sa) continue;
    auto [first, fresh] = seen.emplace(std::pair(sa->destination, sa->spi), item.line());
    if (!fresh)
      item.complain(
          fmt::format("destination and SPI are those of line {}; use another SPI", first->second));
    ipsec.sas.push_back(std::move(*sa));
  }
  if (ipsec.sas.size() > ipsec.max_sas)
    value.complain(fmt::format("{} SAs; use at most {}, or a larger max_sas", ipsec.sas.size(),
                               ipsec.max_sas));
}

}  // namespace

std::vector<std::string_view> api_names(std::span<const std::string_view> names,
                                        const bool* persist) {
  std::vector<std::string_view> known(names.begin(), names.end());
  if (persist != nullptr) known.push_back("persist");
  return known;
}

void read_persist(const Fields& fields, bool* persist) {
  const Value* value = persist == nullptr ? nullptr : fields.get("persist");
  if (value != nullptr) *persist = value->boolean().value_or(false);
}

std::optional<Spi> read_spi(const Value& value) {
  std::string_view word = value.word();
  const bool hex = word.starts_with("0x");
  if (hex) word.remove_prefix(2);
  uint32_t spi = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), spi, hex ? 16 : 10);
  if (error == std::errc() && end == word.data() + word.size() && spi >= sa_keys["spi"].range.low)
    return Spi(spi);
  value.refuse(fmt::format("is no SPI; use {}", sa_keys["spi"].range.words));
  return std::nullopt;
}

void load_ipsec(const Value& value, Loading& loading) {
  IpsecConfig& ipsec = loading.config.ipsec;
  Fields fields(value, ipsec_keys.names, "a map, as {sas: [], policies: []}");
  read_keys(fields, ipsec_keys, ipsec,
            {{"sas", [&](const Value& sas) { load_sas(sas, loading); }},
             {"policies", [&](const Value& policies) { load_ipsec_policies(policies, loading); }}});
}

tl::expected<IpsecSaConfig, Problems> parse_ipsec_sa(std::string_view yaml,
                                                     const std::string& file_name,
                                                     const LoadLimits& limits, bool* persist) {
  IpsecSaConfig sa;
  auto read = read_yaml(yaml, file_name, "begin with source", [&](const Value& root) {
    if (auto one = read_sa(root, {"/", limits.file}, persist)) sa = std::move(*one);
  });
  if (!read) return tl::unexpected(read.error());
  return sa;
}

}  // namespace hecto::config
