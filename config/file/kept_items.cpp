#include "config/file/kept_items.hpp"

#include "config/file/load_ipsec.hpp"
#include "config/file/load_routes.hpp"
#include "config/file/words.hpp"

namespace hecto::config {
namespace {

constexpr std::string_view kSections[] = {"routes", "ipsec"};

void write(SecretBytes& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

void write_key(SecretBytes& out, std::string_view name, const SecretKey& key) {
  constexpr char kDigits[] = "0123456789abcdef";
  if (key.size() == 0) return;
  write(out, ", ");
  write(out, name);
  write(out, ": 0x");
  for (const uint8_t byte : key.bytes()) {
    out.push_back(static_cast<uint8_t>(kDigits[byte >> 4]));
    out.push_back(static_cast<uint8_t>(kDigits[byte & 15]));
  }
}

void write_item(SecretBytes& out, std::string_view indent, std::string_view text) {
  write(out, indent);
  write(out, "- ");
  write(out, text);
  write(out, "\n");
}

// to_string() shows no key: it is written behind the rest of the map.
void write_sa(SecretBytes& out, const IpsecSaConfig& sa) {
  IpsecSaConfig bare = sa;
  bare.cipher_key = bare.integrity_key = SecretKey();
  bare.key_file.clear();
  std::string text = to_string(bare);
  text.pop_back();
  write(out, "    - " + text);
  write_key(out, "key", sa.cipher_key);
  write_key(out, "integrity_key", sa.integrity_key);
  write(out, "}\n");
}

}  // namespace

SecretBytes to_yaml(const KeptItems& items) {
  SecretBytes out;
  write(out, items.routes.empty() ? "routes: []\n" : "routes:\n");
  for (const RouteConfig& route : items.routes) write_item(out, "  ", to_string(route));
  write(out, "ipsec:\n");
  write(out, items.sas.empty() ? "  sas: []\n" : "  sas:\n");
  for (const IpsecSaConfig& sa : items.sas) write_sa(out, sa);
  write(out, items.policies.empty() ? "  policies: []\n" : "  policies:\n");
  for (const IpsecPolicyConfig& policy : items.policies) write_item(out, "    ", to_string(policy));
  return out;
}

tl::expected<KeptItems, Problems> parse_kept_items(std::string_view yaml, const std::string& name) {
  KeptItems items;
  auto read = read_yaml(yaml, name, "begin with routes", [&](const Value& root) {
    const Fields fields(root, kSections, "a map, as {routes: [], ipsec: {}}");
    Loading loading{{}, root.report(), {}, {}, {}};
    if (const Value* routes = fields.get("routes")) load_routes(*routes, loading);
    if (const Value* ipsec = fields.get("ipsec")) load_ipsec(*ipsec, loading);
    items = {std::move(loading.config.routes), std::move(loading.config.ipsec.sas),
             std::move(loading.config.ipsec.policies)};
  });
  if (!read) return tl::unexpected(read.error());
  return items;
}

}  // namespace hecto::config
