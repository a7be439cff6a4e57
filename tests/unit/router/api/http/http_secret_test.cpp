// What an answer of keys leaves in the server's memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <vector>

#include "router/api/http/http.hpp"
#include "tests/unit/router/api/http/http_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr size_t kSecretBytes = 200;

// Computed wherever it is needed, so that no other copy of it lies about.
uint8_t secret_byte(size_t i) {
  return static_cast<uint8_t>(i * i * 7 + i * 31 + 101);
}

bool is_secret(const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (bytes[i] != secret_byte(i)) return false;
  return true;
}

// How often the beginning of the secret lies in this process's writable memory.
size_t copies_in_memory() {
  constexpr size_t kNeedle = 32, kWindow = 1 << 20;
  std::vector<uint8_t> window(kWindow + kNeedle);
  const int memory = ::open("/proc/self/mem", O_RDONLY);
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  size_t copies = 0;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long first = 0, last = 0;
    char mode[5] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &first, &last, mode) != 3 || mode[1] != 'w') continue;
    // Sanitizers map terabytes of shadow.
    if (last - first > (1ul << 32)) continue;
    for (unsigned long at = first; at < last; at += kWindow) {
      wipe(window.data(), window.size());
      const size_t wanted = std::min<size_t>(last - at, window.size());
      const ssize_t got = ::pread(memory, window.data(), wanted, static_cast<off_t>(at));
      for (ssize_t i = 0;
           i + static_cast<ssize_t>(kNeedle) <= got && i < static_cast<ssize_t>(kWindow); ++i)
        copies += is_secret(window.data() + i, kNeedle);
    }
    wipe(window.data(), window.size());
  }
  std::fclose(maps);
  ::close(memory);
  return copies;
}

TEST_F(HttpTest, ASecretGoesOutFromWhereItLies) {
  auto secret = std::make_shared<SecretBytes>(kSecretBytes);
  for (size_t i = 0; i < kSecretBytes; ++i) (*secret)[i] = secret_byte(i);
  start(small(), [&](HttpRequest&) { return HttpAnswer{200, "", "text/plain", secret}; });
  // The client is another process: what it reads is its own affair.
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = RawClient(path_).ask("GET /k HTTP/1.1\r\nConnection: close\r\n\r\n");
    const bool right =
        text.size() > kSecretBytes && starts(text, "HTTP/1.1 200") &&
        is_secret(reinterpret_cast<const uint8_t*>(text.data()) + text.size() - kSecretBytes,
                  kSecretBytes);
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(copies_in_memory(), 1u) << "one is where it lies";
  server_->stop();
  secret.reset();
  EXPECT_EQ(copies_in_memory(), 0u);
}

}  // namespace
}  // namespace hecto::router::test
