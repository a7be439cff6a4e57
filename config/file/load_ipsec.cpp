// `ipsec:` and its SAs. What is said of a key never holds the key.
#include "config/file/load_ipsec.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "config/file/load_sections.hpp"

namespace hecto::config {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 62;
constexpr uint64_t kMostPackets = uint64_t{1} << 62;
constexpr uint64_t kMostSeconds = 1'000'000'000;
constexpr size_t kMostKeyFileBytes = 4096;
constexpr uint16_t kMostReplayWindow = 4096;
constexpr uint32_t kFirstSpi = 256;  // those below are IANA's (RFC 4303 §2.1)

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

// The text of a key file; refuses what others may read, as ssh does.
std::optional<std::string> read_key_file(const Value& value, const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    value.refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
    return std::nullopt;
  }
  struct stat info {};
  std::string text(kMostKeyFileBytes + 1, '\0');
  const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t bytes = regular ? read(fd, text.data(), text.size()) : -1;
  close(fd);
  if (bytes < 0) {
    value.refuse("cannot be read as a file");
  } else if ((info.st_mode & 077) != 0) {
    value.refuse(fmt::format("is open to others (mode {:04o}); use chmod 600",
                             static_cast<unsigned>(info.st_mode & 07777)));
  } else if (static_cast<size_t>(bytes) > kMostKeyFileBytes) {
    value.refuse("is no key file; write one or two keys, as 0x0123");
  } else {
    text.resize(static_cast<size_t>(bytes));
    return text;
  }
  explicit_bzero(text.data(), text.size());
  return std::nullopt;
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
                       const IpsecAlgorithm* integrity, const std::string& base,
                       IpsecSaConfig& sa) {
  auto name = value.text("a file name");
  if (!name) return;
  std::error_code error;
  const auto folder = std::filesystem::absolute(base, error).parent_path();
  sa.key_file = (folder / *name).lexically_normal().string();
  auto text = read_key_file(value, sa.key_file);
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

void read_crypto(const Value& map, const Fields& fields, const std::string& base,
                 IpsecSaConfig& sa) {
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
      read_keys_of_file(*file, *cipher, integrity, base, sa);
    return;
  }
  read_inline_key(key, cipher->key_bytes, "key", cipher->name, map, sa.cipher_key);
  read_inline_key(integrity_key, integrity == nullptr ? 0 : integrity->key_bytes, "integrity_key",
                  integrity == nullptr ? cipher->name : integrity->name, map, sa.integrity_key);
}

void read_pair(const Fields& fields, std::string_view unit, uint64_t most,
               std::optional<uint64_t>& soft, std::optional<uint64_t>& hard) {
  const bool bytes = unit == "bytes";
  auto read = [&](std::string_view which) -> std::optional<uint64_t> {
    const Value* value = fields.get(fmt::format("{}_{}", which, unit));
    if (value == nullptr) return std::nullopt;
    return bytes ? value->size(1, most) : value->integer(1, most);
  };
  soft = read("soft");
  hard = read("hard");
  if (soft && hard && *soft > *hard)
    fields.get(fmt::format("soft_{}", unit))
        ->refuse(fmt::format("is above hard_{}; use at most that", unit));
}

void read_lifetime(const Value& value, IpsecLifetime& lifetime) {
  Fields fields(value, "ipsec.sas.*.lifetime", "a map, as {soft_bytes: 90GB, hard_bytes: 100GB}");
  read_pair(fields, "bytes", kMostBytes, lifetime.soft_bytes, lifetime.hard_bytes);
  read_pair(fields, "packets", kMostPackets, lifetime.soft_packets, lifetime.hard_packets);
  read_pair(fields, "add_s", kMostSeconds, lifetime.soft_add_s, lifetime.hard_add_s);
  read_pair(fields, "use_s", kMostSeconds, lifetime.soft_use_s, lifetime.hard_use_s);
}

void read_options(const Fields& fields, IpsecSaConfig& sa) {
  read_integer(fields.get("reqid"), 0, UINT32_MAX, sa.reqid);
  read_integer(fields.get("if_id"), 0, UINT32_MAX, sa.if_id);
  read_integer(fields.get("replay_window"), 0, kMostReplayWindow, sa.replay_window);
  read_integer(fields.get("tfc_pad"), 0, 65535, sa.tfc_pad);
  const std::pair<const char*, bool*> flags[] = {{"esn", &sa.esn},
                                                 {"copy_dscp", &sa.copy_dscp},
                                                 {"copy_dont_fragment", &sa.copy_dont_fragment},
                                                 {"ecn", &sa.ecn}};
  for (const auto& [name, target] : flags)
    if (const Value* value = fields.get(name))
      if (auto wanted = value->boolean()) *target = *wanted;
  if (const Value* value = fields.get("lifetime")) read_lifetime(*value, sa.lifetime);
  if (const Value* value = fields.get("encapsulation")) {
    Fields ports(*value, "ipsec.sas.*.encapsulation",
                 "a map, as {source_port: 4500, destination_port: 4500}");
    sa.encapsulation.emplace();
    read_integer(ports.get("source_port"), 1, 65535, sa.encapsulation->source_port);
    read_integer(ports.get("destination_port"), 1, 65535, sa.encapsulation->destination_port);
  }
}

}  // namespace

std::optional<uint32_t> read_spi(const Value& value) {
  std::string_view word = value.word();
  const bool hex = word.starts_with("0x");
  if (hex) word.remove_prefix(2);
  uint32_t spi = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), spi, hex ? 16 : 10);
  if (error == std::errc() && end == word.data() + word.size() && spi >= kFirstSpi) return spi;
  value.refuse("is no SPI; use 0x100 to 0xffffffff");
  return std::nullopt;
}

std::optional<IpsecMode> read_ipsec_mode(const Value& value) {
  static constexpr Enumerator kModes[] = {{"tunnel", static_cast<int>(IpsecMode::kTunnel)},
                                          {"transport", static_cast<int>(IpsecMode::kTransport)}};
  if (auto mode = value.one_of(kModes)) return static_cast<IpsecMode>(*mode);
  return std::nullopt;
}

std::optional<IpAddress> read_ipsec_end(const Value& value) {
  auto text = value.text("an address, as 192.0.2.1");
  if (!text) return std::nullopt;
  auto address = IpAddress::parse(*text);
  const bool unspecified = address && std::all_of(address->bytes.begin(), address->bytes.end(),
                                                  [](uint8_t b) { return b == 0; });
  if (address && !unspecified && address->bytes[0] != 0xff &&
      (address->family == lookup::Family::kIpv6 || address->bytes[0] < 224))
    return address;
  value.refuse("is no end of a tunnel; use a unicast address, as 192.0.2.1");
  return std::nullopt;
}

std::optional<IpsecSaConfig> read_ipsec_sa(const Value& value, const std::string& base) {
  Fields fields(value, "ipsec.sas.*",
                "a map, as {source: 192.0.2.1, destination: 198.51.100.1, "
                "spi: 0x1001, cipher: aes-256-gcm, key_file: a.key}");
  IpsecSaConfig sa;
  const Value* source = fields.need("source", "the address of the sending end");
  const Value* destination = fields.need("destination", "the address of the receiving end");
  const Value* spi = fields.need("spi", "one as 0x1001");
  auto from = source == nullptr ? std::nullopt : read_ipsec_end(*source);
  auto to = destination == nullptr ? std::nullopt : read_ipsec_end(*destination);
  auto index = spi == nullptr ? std::nullopt : read_spi(*spi);
  if (from && to && from->family != to->family)
    destination->refuse("is not of the family of source; use two addresses of one family");
  if (const Value* mode = fields.get("mode")) sa.mode = read_ipsec_mode(*mode).value_or(sa.mode);
  read_options(fields, sa);
  read_crypto(value, fields, base, sa);
  if (!from || !to || !index) return std::nullopt;
  sa.source = *from;
  sa.destination = *to;
  sa.spi = *index;
  return sa;
}

void load_ipsec(const Value& value, Loading& loading) {
  IpsecConfig& ipsec = loading.config.ipsec;
  Fields fields(value, "ipsec", "a map, as {sas: [], policies: []}");
  static constexpr Enumerator kCrypto[] = {{"auto", static_cast<int>(IpsecCrypto::kAuto)},
                                           {"ipsec-mb", static_cast<int>(IpsecCrypto::kIpsecMb)},
                                           {"openssl", static_cast<int>(IpsecCrypto::kOpenSsl)}};
  if (const Value* crypto = fields.get("crypto"))
    if (auto word = crypto->one_of(kCrypto)) ipsec.crypto = static_cast<IpsecCrypto>(*word);
  static constexpr Enumerator kNic[] = {{"auto", static_cast<int>(IpsecNic::kAuto)},
                                        {"never", static_cast<int>(IpsecNic::kNever)}};
  if (const Value* nic = fields.get("nic"))
    if (auto word = nic->one_of(kNic)) ipsec.nic = static_cast<IpsecNic>(*word);
  read_integer(fields.get("max_sas"), 1, 1'000'000, ipsec.max_sas);
  read_integer(fields.get("max_policies"), 1, 1'000'000, ipsec.max_policies);
  if (const Value* value = fields.get("export_keys"))
    if (auto wanted = value->boolean()) ipsec.export_keys = *wanted;
  if (const Value* sas = fields.get("sas")) load_ipsec_sas(*sas, loading);
  if (const Value* policies = fields.get("policies")) load_ipsec_policies(*policies, loading);
}

void load_ipsec_sas(const Value& value, Loading& loading) {
  IpsecConfig& ipsec = loading.config.ipsec;
  std::map<std::pair<IpAddress, uint32_t>, uint32_t> seen;
  for (const Value& item : value.items("a list of SAs")) {
    auto sa = read_ipsec_sa(item, loading.config.file);
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

tl::expected<IpsecSaConfig, Problems> parse_ipsec_sa(std::string_view yaml,
                                                     const std::string& file_name) {
  IpsecSaConfig sa;
  auto read = read_yaml(yaml, file_name, "begin with source", [&](const Value& root) {
    if (auto one = read_ipsec_sa(root, "/")) sa = std::move(*one);
  });
  if (!read) return tl::unexpected(read.error());
  return sa;
}

}  // namespace hecto::config
