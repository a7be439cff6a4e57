#include "router/rib/route_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/file_descriptor.hpp"
#include "router/rib/mrt.hpp"
#include "router/rib/route_text.hpp"

namespace hecto::router {

namespace {

constexpr size_t kMrtHeaderBytes = 12;

bool is_bgpdump(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (!line.empty() && line[0] != '#' && line != "\r") {
      return line.starts_with("TABLE_DUMP") || line.starts_with("BGP4MP");
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return false;
}

}  // namespace

std::string_view to_string(RouteFileFormat format) noexcept {
  switch (format) {
    case RouteFileFormat::kPrefixes:
      return "prefixes";
    case RouteFileFormat::kBgpdump:
      return "bgpdump";
    case RouteFileFormat::kMrt:
      return "mrt";
  }
  return "unknown";
}

uint32_t fnv1a32(std::string_view text) noexcept {
  uint32_t hash = 0x811c9dc5;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x01000193;
  return hash;
}

namespace {

// What gzip data holds, up to where it is damaged.
struct Unpacked {
  std::string bytes;
  std::optional<Error> damage;
};

Unpacked gunzip(std::string_view bytes, size_t max_bytes) {
  Unpacked result;
  std::string& out = result.bytes;
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) {
    result.damage = Error{"zlib gave no memory", ENOMEM};
    return result;
  }
  size_t taken = 0;
  size_t filled = 0;
  auto damaged = [&](const char* what) {
    result.damage = Error{fmt::format("byte {}: {}", taken, what), EINVAL};
  };
  while (!result.damage) {
    if (filled == out.size()) {
      if (filled > max_bytes) break;
      out.resize(std::max<size_t>(size_t{1} << 20, out.size() * 2));
    }
    size_t chunk = std::min<size_t>(bytes.size() - taken, size_t{1} << 30);
    size_t room = std::min<size_t>(out.size() - filled, size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = static_cast<uInt>(chunk);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    stream.avail_out = static_cast<uInt>(room);
    int status = inflate(&stream, Z_NO_FLUSH);
    taken += chunk - stream.avail_in;
    filled += room - stream.avail_out;
    if (status == Z_STREAM_END) {
      if (taken == bytes.size()) break;
      // RFC 1952 section 2.2: members follow one another.
      if (bytes.substr(taken).starts_with("\x1f\x8b")) {
        inflateReset(&stream);
      } else {
        damaged("there is more behind the gzip data");
      }
    } else if (status == Z_BUF_ERROR && stream.avail_out != 0) {
      damaged("the gzip data ends too early");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      damaged("the gzip data is damaged");
    }
  }
  inflateEnd(&stream);
  out.resize(filled);
  return result;
}

Result<RouteFile> parse_unpacked(std::string_view bytes, const RouteFileOptions& options,
                                 const std::string& label) {
  if (bytes.size() > options.max_bytes) {
    return fail(fmt::format("{}: is larger than {} bytes", label, options.max_bytes), EFBIG);
  }
  if (bytes.starts_with("BZh")) {
    return fail(fmt::format("{}: is compressed with bzip2; unpack it with bunzip2", label));
  }
  // An MRT header has zero bytes among its first twelve (type and length), a text none.
  if (bytes.substr(0, kMrtHeaderBytes).find('\0') != std::string_view::npos) {
    return parse_mrt(bytes, options, label);
  }
  return is_bgpdump(bytes) ? parse_bgpdump(bytes, options, label)
                           : parse_prefixes(bytes, options, label);
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  auto failed = [&path] { return fail(fmt::format("{}: {}", path, std::strerror(errno)), errno); };
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failed();
  struct stat status;
  if (fstat(file.get(), &status) != 0) return failed();
  if (S_ISDIR(status.st_mode)) return fail(fmt::format("{}: is a directory", path), EISDIR);
  std::string bytes;
  size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) {
      size_t guess = static_cast<size_t>(std::max<off_t>(status.st_size, 1 << 16)) + 1;
      bytes.resize(filled == 0 ? std::min(guess, max_bytes + 1) : filled * 2);
    }
    ssize_t got = read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed();
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled > max_bytes) {
      return fail(fmt::format("{}: is larger than {} bytes", path, max_bytes), EFBIG);
    }
  }
  bytes.resize(filled);
  return bytes;
}

Result<RouteFile> parse_routes(std::string_view bytes, const RouteFileOptions& options,
                               const std::string& label) {
  if (!bytes.starts_with("\x1f\x8b")) return parse_unpacked(bytes, options, label);
  Unpacked unpacked = gunzip(bytes, options.max_bytes);
  if (!unpacked.damage) {
    // Before the parsers see it, whose own words are for files that are not packed.
    if (unpacked.bytes.size() > options.max_bytes) {
      return fail(fmt::format("{}: it is larger than {} bytes after decompression", label,
                              options.max_bytes),
                  EFBIG);
    }
    return parse_unpacked(unpacked.bytes, options, label);
  }
  const Error& damage = *unpacked.damage;
  if (!options.skip_bad || damage.error_number != EINVAL) {
    return fail(fmt::format("{}: {}", label, damage.message), damage.error_number);
  }
  // Of a text the last line may be cut off, and still look like a line.
  std::string_view good = unpacked.bytes;
  if (good.find('\0') == std::string_view::npos) good = good.substr(0, good.rfind('\n') + 1);
  auto file = parse_unpacked(good, options, label);
  if (!file) return file;
  ++file->bad;
  file->problems.push_back(damage.message + "; nothing behind it is read");
  return file;
}

Result<RouteFile> read_routes(const std::string& path, const RouteFileOptions& options) {
  auto bytes = read_file(path, options.max_bytes);
  if (!bytes) return tl::unexpected(bytes.error());
  return parse_routes(*bytes, options, path);
}

}  // namespace hecto::router
