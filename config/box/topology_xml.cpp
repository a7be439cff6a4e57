#include "config/box/topology_xml.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "config/file/document.hpp"

namespace hecto::config {
namespace {

constexpr unsigned kNewest = 3;

// hwloc 3 has a set of bits where version 2 has one of six numbers.
unsigned version2_device(unsigned long types) {
  constexpr unsigned kBlock = 0, kGpu = 1, kNetwork = 2, kOpenFabrics = 3, kDma = 4, kCoProc = 5;
  constexpr unsigned long kStorage3 = 1, kMemory3 = 2, kCoProc3 = 8, kNetwork3 = 16,
                          kOpenFabrics3 = 32, kDma3 = 64;
  if ((types & (kStorage3 | kMemory3)) != 0) return kBlock;
  if ((types & kOpenFabrics3) != 0) return kOpenFabrics;
  if ((types & kNetwork3) != 0) return kNetwork;
  if ((types & kDma3) != 0) return kDma;
  return (types & kCoProc3) != 0 ? kCoProc : kGpu;
}

struct Version {
  unsigned major = 1;
  std::string text;
  size_t begin = 0;  // of the text in the file
};

// Of the tag that begins at `tag`; without the attribute it is hwloc 1's.
Version version_of(const std::string& xml, size_t tag) {
  constexpr std::string_view kAttribute = "version=\"";
  const size_t end = xml.find('>', tag), at = xml.find(kAttribute, tag);
  if (at == std::string::npos || at > end) return {};
  const size_t begin = at + kAttribute.size();
  Version out{0, xml.substr(begin, xml.find('"', begin) - begin), begin};
  out.major = static_cast<unsigned>(std::strtoul(out.text.c_str(), nullptr, 10));
  return out;
}

std::string as_version2(const std::string& xml, const Version& version) {
  constexpr std::string_view kDevice = "osdev_type=\"";
  std::string out = xml.substr(0, version.begin) + "2.0";
  size_t from = version.begin + version.text.size();
  for (size_t at; (at = xml.find(kDevice, from)) != std::string::npos;) {
    at += kDevice.size();
    char* end = nullptr;
    const unsigned long types = std::strtoul(xml.c_str() + at, &end, 10);
    out += xml.substr(from, at - from) + std::to_string(version2_device(types));
    from = static_cast<size_t>(end - xml.c_str());
  }
  return out + xml.substr(from);
}

}  // namespace

tl::expected<std::string, std::string> readable_xml(const std::string& xml,
                                                    const std::string& source) {
  auto refused = [&](const std::string& why) {
    return tl::unexpected(fmt::format("{}: {}", source, why));
  };
  if (xml.find_first_not_of(" \t\r\n") == std::string::npos)
    return refused(fmt::format("is empty; {}", kAgain));
  if (xml.size() > kMaxFileBytes)
    return refused(fmt::format("is larger than {} MiB; {}", kMaxFileBytes >> 20, kAgain));
  const size_t tag = xml.find("<topology");
  if (tag == std::string::npos) return refused(std::string(kNoExport));
  if (xml.find("</topology>", tag) == std::string::npos)
    return refused(fmt::format("ends after {} bytes, within the export; copy it again, or {}",
                               xml.size(), kAgain));
  const Version version = version_of(xml, tag);
  if (version.major > kNewest)
    return refused(
        fmt::format("is of hwloc {}, and 1 to {} can be read here; write it with "
                    "`lstopo --export-xml-flags 2 box.xml`",
                    version.text, kNewest));
  return version.major == kNewest ? as_version2(xml, version) : xml;
}

}  // namespace hecto::config
