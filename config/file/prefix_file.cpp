#include "config/file/prefix_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file_descriptor.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {
namespace {

using lookup::IpPrefix;

// Without the comment, and blanks on both sides.
std::string_view bare_line(std::string_view line) {
  line = line.substr(0, line.find_first_of("#;"));
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
}

std::string no_prefix(size_t number, std::string_view word) {
  if (const auto loose = IpPrefix::parse_interface(word))
    return fmt::format("{}: {} has bits behind its length; use {}", number, word,
                       loose->network().to_string());
  return fmt::format("{}: {} is not a prefix; use one as 10.0.0.0/8 or 2001:db8::/32", number,
                     seen_text(word));
}

tl::expected<std::string, std::string> read_regular(const std::string& path) {
  // Not to wait for the other end of a FIFO.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return tl::unexpected(fmt::format("cannot be opened: {}", strerror(errno)));
  struct stat info {};
  if (fstat(file.get(), &info) != 0)
    return tl::unexpected(fmt::format("cannot be read: {}", strerror(errno)));
  if (S_ISDIR(info.st_mode)) return tl::unexpected<std::string>("a folder; name a file");
  if (!S_ISREG(info.st_mode))
    return tl::unexpected<std::string>("not a file of bytes; name a file");
  std::string text;
  size_t room = std::min(static_cast<size_t>(info.st_size), kMostPrefixFileBytes) + 1;
  for (;;) {
    const size_t had = text.size();
    text.resize(had + room);
    const ssize_t got = read(file.get(), text.data() + had, room);
    if (got < 0) return tl::unexpected(fmt::format("cannot be read: {}", strerror(errno)));
    text.resize(had + static_cast<size_t>(got));
    if (got == 0) return text;
    if (text.size() > kMostPrefixFileBytes)
      return tl::unexpected(
          fmt::format("more than {} bytes (64 MiB); use several sets", kMostPrefixFileBytes));
    room = 65536;
  }
}

}  // namespace

tl::expected<std::vector<IpPrefix>, std::string> parse_prefix_lines(std::string_view text,
                                                                    size_t most) {
  std::vector<IpPrefix> out;
  out.reserve(std::min(text.size() / 16, most));
  size_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return tl::unexpected(
          fmt::format("{}: {} ends without a newline, as a file that was cut; end the line", number,
                      seen_text(text)));
    const std::string_view word = bare_line(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (word.empty()) continue;
    const auto prefix = IpPrefix::parse(word);
    if (!prefix) return tl::unexpected(no_prefix(number, word));
    out.push_back(*prefix);
  }
  if (!std::is_sorted(out.begin(), out.end())) std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.size() > most)
    return tl::unexpected(fmt::format("{}: {} prefixes; use at most {}", number, out.size(), most));
  return out;
}

tl::expected<std::vector<IpPrefix>, std::string> read_prefix_file(const std::string& path,
                                                                  size_t most) {
  const auto text = read_regular(path);
  if (!text) return tl::unexpected(fmt::format("{}: {}", path, text.error()));
  auto prefixes = parse_prefix_lines(*text, most);
  if (!prefixes) return tl::unexpected(fmt::format("{}:{}", path, prefixes.error()));
  return prefixes;
}

}  // namespace hecto::config
