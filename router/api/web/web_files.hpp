// The files of the web page, built into hectod: what a browser gets is what this hectod knows.
#pragma once

#include <string_view>

namespace hecto::router {

struct WebFile {
  std::string_view path, type;
  std::string_view digest;  // of what is in it
  std::string_view body;
};

// None: no part of the page has that path. "/" is index.html.
const WebFile* web_file(std::string_view path) noexcept;

}  // namespace hecto::router
