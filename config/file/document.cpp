#include "config/file/document.hpp"

#include <fmt/format.h>
#include <string.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <streambuf>
#include <unordered_map>

namespace hecto::config {
namespace {

struct Refused {
  DocumentError error;
};

uint32_t line_of(const YAML::Mark& mark) {
  return mark.line < 0 ? 1 : static_cast<uint32_t>(mark.line) + 1;
}

// Reads a string_view in place.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

class Builder : public YAML::EventHandler {
 public:
  Document take() {
    if (document_.nodes.empty()) document_.nodes.emplace_back();
    return std::move(document_);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    place(anchor, {NodeKind::kNull, false, line_of(mark), {}, {}});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    bool quoted = tag == "!";
    bool null = !quoted && (value.empty() || value == "~" || value == "null");
    place(anchor, {null ? NodeKind::kNull : NodeKind::kScalar, quoted, line_of(mark), value, {}});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(mark, anchor, NodeKind::kList);
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(mark, anchor, NodeKind::kMap);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw Refused{{line_of(mark), "an alias inside its own anchor; take it out"}};
    attach({found->second, line_of(mark)});
    count(line_of(mark));
  }

 private:
  struct Open {
    DocumentNode node;
    YAML::anchor_t anchor;
  };

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!")
      throw Refused{{line_of(mark), fmt::format("a YAML tag; write the value without it")}};
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, NodeKind kind) {
    if (open_.size() >= kMaxDepth)
      throw Refused{
          {line_of(mark), fmt::format("nested more than {} deep; no key needs that", kMaxDepth)}};
    open_.push_back({{kind, false, line_of(mark), {}, {}}, anchor});
  }

  void close() {
    Open top = std::move(open_.back());
    open_.pop_back();
    place(top.anchor, std::move(top.node));
  }

  void place(YAML::anchor_t anchor, DocumentNode node) {
    uint32_t line = node.line;
    document_.nodes.push_back(std::move(node));
    auto index = static_cast<uint32_t>(document_.nodes.size() - 1);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = index;
    attach({index, line});
    count(line);
  }

  void attach(DocumentNode::Child child) {
    if (!open_.empty()) open_.back().node.children.push_back(child);
  }

  void count(uint32_t line) {
    if (++count_ > kMaxNodes)
      throw Refused{
          {line,
           fmt::format(
               "more than {} values; put routes into route_files, prefixes into files of sets",
               kMaxNodes)}};
  }

  Document document_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, uint32_t> anchors_;
  size_t count_ = 0;
};

std::optional<DocumentError> check_bytes(std::string_view yaml) {
  if (yaml.size() > kMaxFileBytes)
    return DocumentError{1, fmt::format("{} bytes; a configuration has at most {} (64 MiB): put "
                                        "routes into route_files",
                                        yaml.size(), kMaxFileBytes)};
  uint32_t line = 1;
  for (char c : yaml) {
    auto byte = static_cast<unsigned char>(c);
    if (byte == '\n') ++line;
    if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f)
      return DocumentError{line, fmt::format("byte 0x{:02x}; a configuration is text", byte)};
  }
  return std::nullopt;
}

}  // namespace

void wipe(Document& document) noexcept {
  for (DocumentNode& node : document.nodes) explicit_bzero(node.text.data(), node.text.size());
}

tl::expected<Document, DocumentError> read_document(std::string_view yaml) {
  if (auto error = check_bytes(yaml)) return tl::unexpected(std::move(*error));
  ViewBuffer buffer(yaml);
  std::istream stream(&buffer);
  Builder builder;
  try {
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      Builder second;
      if (parser.HandleNextDocument(second))
        return tl::unexpected(DocumentError{1, "more than one YAML document (---); keep one"});
    }
    return builder.take();
  } catch (const Refused& refused) {
    return tl::unexpected(refused.error);
  } catch (const YAML::Exception& e) {
    return tl::unexpected(DocumentError{line_of(e.mark), fmt::format("not YAML: {}", e.msg)});
  } catch (const std::exception& e) {
    return tl::unexpected(DocumentError{1, fmt::format("not YAML: {}", e.what())});
  }
}

}  // namespace hecto::config
