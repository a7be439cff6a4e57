// A YAML document as an array of nodes, each with its line. Bounded in depth and size, so that no
// file can make it large or recursive: an alias is one more reference to a node, never a copy, and
// an anchor cannot hold itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace hecto::config {

inline constexpr size_t kMaxFileBytes = 64u << 20;
inline constexpr size_t kMaxDepth = 32;
inline constexpr size_t kMaxNodes = 4'000'000;  // 250,000 rules of filters

enum class NodeKind : uint8_t { kNull, kScalar, kList, kMap };

struct DocumentNode {
  NodeKind kind = NodeKind::kNull;
  bool quoted = false;  // "off" in quotes is a text, never a boolean or a number
  uint32_t line = 1;    // from 1
  std::string text;
  // Positions in Document::nodes: items of a list; key, value, key, value of a map. Each comes
  // with the line of its use, which for an alias is not the node's.
  struct Child {
    uint32_t node;
    uint32_t line;
  };
  std::vector<Child> children;
};

struct Document {
  std::vector<DocumentNode> nodes;  // the last is the root; a null for an empty file
};
// Zeroes all texts: keys may be among them. Copies that yaml-cpp made while it read stay where they
// were freed.
void wipe(Document& document) noexcept;

struct DocumentError {
  uint32_t line;
  std::string text;  // what was seen; what would be right
};

tl::expected<Document, DocumentError> read_document(std::string_view yaml);

}  // namespace hecto::config
