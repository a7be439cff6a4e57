// hecto capture: its files, its pipe, its keys.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/router/cli/hecto_bed.hpp"

namespace hecto::cli {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

constexpr std::string_view kPieces("piece0\0piece1\0piece2\0", 21);

TEST_F(HectoTest, CapturesIntoAFileAndTellsWhatWasLost) {
  const std::string file = scratch_ / "a.pcapng", keys = scratch_ / "esp_sa";
  std::ofstream(keys) << "was there";  // and readable by all
  ASSERT_EQ(chmod(keys.c_str(), 0644), 0);
  backend_.lost = 2;
  const Outcome captured =
      run("capture -w " + file + " --esp-keys " + keys + " -n 12 --where inner,outer");
  EXPECT_EQ(captured.code, 0) << captured.err;
  EXPECT_EQ(captured.err.rfind("hecto: capture: 12 packets captured, 2 lost\n", 0), 0u)
      << captured.err;
  EXPECT_NE(captured.err.find("the buffer was full"), std::string::npos);
  EXPECT_EQ(contents(file), kPieces);
  EXPECT_EQ(mode_of(file), 0600u);
  EXPECT_EQ(contents(keys), "\"IPv4\",\"a key\"\n");  // once, though asked for twice
  EXPECT_EQ(mode_of(keys), 0600u);
  EXPECT_EQ(backend_.asked(), "end capture 3");
}

TEST_F(HectoTest, CapturesIntoAPipe) {
  const Outcome captured = run("capture --write -");
  EXPECT_EQ(captured.code, 0) << captured.err;
  EXPECT_EQ(captured.out, kPieces);
}

TEST_F(HectoTest, ACaptureEndsByItselfWhereNothingWasSaidAndSaysSo) {
  const std::string file = scratch_ / "a.pcapng";
  const Outcome captured = run("capture -w " + file);
  EXPECT_EQ(captured.code, 0);
  EXPECT_EQ(captured.err.rfind("hecto: capture: ends after 10,000 packets or 60 s; -n, --seconds "
                               "or --endless say otherwise\n",
                               0),
            0u)
      << captured.err;
  EXPECT_EQ(backend_.begun.count, 10'000u);
  for (const std::string end : {"-n 5", "--seconds 9", "--endless"}) {
    EXPECT_EQ(run("capture -w " + file + " " + end).err.find("ends after"), std::string::npos);
    EXPECT_EQ(backend_.begun.count, end == "-n 5" ? 5u : 0u) << end;
  }
}

TEST_F(HectoTest, CapturesByProtocolAndPortAndAsText) {
  const Outcome text = run("capture --text --protocol udp --transport-port 53 -n 1");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(backend_.begun.protocol, 17);
  EXPECT_EQ(backend_.begun.transport_port, 53);
  EXPECT_EQ(run("capture --text -w -").code, 2);
  EXPECT_EQ(run("capture --text --protocol nonsense -n 1").code, 1);
}

TEST_F(HectoTest, KeysThatAreRefusedLeaveNoFile) {
  backend_.give_keys = false;
  const std::string keys = scratch_ / "esp_sa", file = scratch_ / "a.pcapng";
  const Outcome refused = run("capture --esp-keys " + keys + " -w " + file);
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err, "hecto: keys are not given away\n");
  EXPECT_NE(access(keys.c_str(), F_OK), 0);
  EXPECT_NE(access(file.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace hecto::cli
