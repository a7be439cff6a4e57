#include "config/file/load_ipfix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/file/keys.hpp"
#include "config/file/load_sflow.hpp"

namespace hecto::config {
namespace {

std::string ports_words(const std::vector<std::string>& ports) {
  return ports.empty() ? "all" : fmt::format("[{}]", fmt::join(ports, ", "));
}

bool are_same(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

// Packets are chosen once, for both.
void check_sampling(const Value& value, const Fields& fields, const Config& config) {
  const IpfixConfig& ipfix = config.ipfix;
  const SflowConfig& sflow = config.sflow;
  if (!ipfix.samples() || sflow.collectors.empty()) return;
  const auto complain = [&](const char* key, const std::string& seen, const std::string& right) {
    const Value* given = fields.get(key);
    const std::string text = fmt::format(
        "{} is not sflow.{} ({}), and packets are sampled once for both; use {} in both", seen, key,
        right, right);
    if (given != nullptr)
      given->complain(text);
    else
      value.complain(fmt::format("{}: {}", key, text));
  };
  if (ipfix.sampling != sflow.sampling)
    complain("sampling", std::to_string(ipfix.sampling), std::to_string(sflow.sampling));
  if (!are_same(ipfix.ports, sflow.ports))
    complain("ports", ports_words(ipfix.ports), ports_words(sflow.ports));
}

void check_table(const Fields& fields, const Config& config) {
  const IpfixConfig& ipfix = config.ipfix;
  if (ipfix.collectors.empty() || ipfix.records != IpfixRecords::kFlowTable) return;
  if (!config.flows.on())
    fields.get("records")->complain(
        "flow_table, and no interface is under flows; name some there, or use sampled");
}

}  // namespace

void load_ipfix(const Value& value, Loading& loading) {
  Fields fields(value, ipfix_keys.names, "a map, as {collectors: [192.0.2.5:4739]}");
  IpfixConfig& ipfix = loading.config.ipfix;
  const auto collectors = [&](const Value& list) {
    read_collectors(list, kIpfixPort, ipfix.collectors);
  };
  const auto ports = [&](const Value& list) {
    read_sampled_ports(list, loading.config, ipfix.ports);
  };
  read_keys(fields, ipfix_keys, ipfix, {{"collectors", collectors}, {"ports", ports}});
  check_sampling(value, fields, loading.config);
  check_table(fields, loading.config);
}

}  // namespace hecto::config
