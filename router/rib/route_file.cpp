#include "router/rib/route_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

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

tl::unexpected<Error> out_of_memory(const std::string& label) {
  return fail(fmt::format("{}: no memory is left for it beside what other requests take; try again "
                          "later, or send less",
                          label),
              ENOBUFS);
}

uint32_t fnv1a32(std::string_view text) noexcept {
  uint32_t hash = 0x811c9dc5;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x01000193;
  return hash;
}

namespace {

// Bytes that grow where they lie, in pages of their own: no copy of them stands beside them
// meanwhile, none is touched that is not written, and all go back to the kernel. What malloc() frees
// of such sizes stays with the arena of the thread.
class GrowingBytes {
 public:
  // `memory` may be null.
  explicit GrowingBytes(ByteReservation* memory) : memory_(memory) {}
  ~GrowingBytes() {
    if (data_ != nullptr) munmap(data_, capacity_);
    if (memory_ != nullptr) memory_->shrink(capacity_);
  }
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;

  bool grow(size_t capacity) {
    if (memory_ != nullptr && !memory_->grow(capacity - capacity_)) return false;
    void* grown = data_ == nullptr ? mmap(nullptr, capacity, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                   : mremap(data_, capacity_, capacity, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED) {
      if (memory_ != nullptr) memory_->shrink(capacity - capacity_);
      return false;
    }
    data_ = static_cast<char*>(grown);
    capacity_ = capacity;
    return true;
  }
  char* room() { return data_ + size; }
  size_t left() const { return capacity_ - size; }
  size_t capacity() const { return capacity_; }
  std::string_view view() const { return {data_, size}; }

  size_t size = 0;  // filled

 private:
  ByteReservation* memory_;
  char* data_ = nullptr;
  size_t capacity_ = 0;
};

// What gzip data holds, up to where it is damaged.
std::optional<Error> gunzip(std::string_view bytes, size_t max_bytes, GrowingBytes& out) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return Error{"zlib gave no memory", ENOBUFS};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  size_t taken = 0;
  auto damaged = [&](const char* what) {
    return Error{fmt::format("byte {}: {}", taken, what), EINVAL};
  };
  for (;;) {
    if (out.left() == 0) {
      if (out.size > max_bytes) return std::nullopt;  // the caller refuses it
      const size_t wanted = std::max<size_t>(size_t{1} << 20, out.capacity() * 2);
      if (!out.grow(std::min(wanted, max_bytes + 1))) return Error{"", ENOBUFS};
    }
    size_t chunk = std::min<size_t>(bytes.size() - taken, size_t{1} << 30);
    size_t room = std::min<size_t>(out.left(), size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = static_cast<uInt>(chunk);
    stream.next_out = reinterpret_cast<Bytef*>(out.room());
    stream.avail_out = static_cast<uInt>(room);
    int status = inflate(&stream, Z_NO_FLUSH);
    taken += chunk - stream.avail_in;
    out.size += room - stream.avail_out;
    if (status == Z_STREAM_END) {
      if (taken == bytes.size()) return std::nullopt;
      // RFC 1952 section 2.2: members follow one another.
      if (!bytes.substr(taken).starts_with("\x1f\x8b"))
        return damaged("there is more behind the gzip data");
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR && stream.avail_out != 0) {
      return damaged("the gzip data ends too early");
    } else if (status == Z_MEM_ERROR) {
      return Error{"zlib gave no memory", ENOBUFS};
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return damaged("the gzip data is damaged");
    }
  }
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
  GrowingBytes unpacked(options.memory);
  const auto damage = gunzip(bytes, options.max_bytes, unpacked);
  if (!damage) {
    // Before the parsers see it, whose own words are for files that are not packed.
    if (unpacked.size > options.max_bytes) {
      return fail(fmt::format("{}: it is larger than {} bytes after decompression", label,
                              options.max_bytes),
                  EFBIG);
    }
    return parse_unpacked(unpacked.view(), options, label);
  }
  if (damage->error_number == ENOBUFS) return out_of_memory(label);
  if (!options.skip_bad)
    return fail(fmt::format("{}: {}", label, damage->message), damage->error_number);
  // Of a text the last line may be cut off, and still look like a line.
  std::string_view good = unpacked.view();
  if (good.find('\0') == std::string_view::npos) good = good.substr(0, good.rfind('\n') + 1);
  auto file = parse_unpacked(good, options, label);
  if (!file) return file;
  ++file->bad;
  file->problems.push_back(damage->message + "; nothing behind it is read");
  return file;
}

Result<RouteFile> read_routes(const std::string& path, const RouteFileOptions& options) {
  auto bytes = read_file(path, options.max_bytes);
  if (!bytes) return tl::unexpected(bytes.error());
  return parse_routes(*bytes, options, path);
}

}  // namespace hecto::router
