// Tables of IPsec and of offload, from the samples of docs/api.md.
#include <gtest/gtest.h>

#include "router/cli/render.hpp"
#include "tests/unit/router/api/documented.hpp"

namespace hecto::cli {
namespace {

using hecto::test::documented;

TEST(RenderIpsec, ShowsSasPoliciesAndWhatIsMissing) {
  json answer = documented("ipsec");
  std::string text = render_ipsec(answer, {});
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_LE(display_width(text.substr(at, text.find('\n', at) - at)), kWidth);
  for (const char* word :
       {"0x00001001", "192.0.2.1 -> 198.51.100.1", "tunnel udp esn", "aes-256-gcm", "1,204,332",
        "48.1 Gb/s", "nic of wan0: 2 sessions\n", "wan0: 1,204,332", "esp_replay 3",
        "10.1.0.0/16 -> 10.2.0.0/16 tcp any:443", "371327"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_EQ(text.find('!'), std::string::npos) << text;

  EXPECT_EQ(text.find("persist"), std::string::npos) << text;
  answer["sas"][0]["persist"] = answer["policies"][0]["persist"] = true;
  text = render_ipsec(answer, {});
  EXPECT_NE(text.find(" esn persist "), std::string::npos) << text;
  EXPECT_NE(text.find("protect (persist)"), std::string::npos) << text;

  answer["policies"][0]["sa"] = nullptr;
  answer["policies_without_sa"] = 1;
  answer["nics"][0]["refused"] = 3;
  answer["sas"][0]["state"] = "soft_expired";
  text = render_ipsec(answer, {});
  EXPECT_NE(text.find("none"), std::string::npos) << text;
  EXPECT_NE(text.find("soft_expired"), std::string::npos) << text;
  EXPECT_NE(text.find("2 sessions, 3 refused\n"), std::string::npos) << text;
  EXPECT_NE(text.find("! 1 policies have no SA: their packets are dropped\n"), std::string::npos)
      << text;
  EXPECT_EQ(render_ipsec({{"crypto", "ipsec-mb 1.3.0, AVX2"}}, {}),
            "crypto: ipsec-mb 1.3.0, AVX2\nno SA and no policy\n");
}

TEST(RenderOffload, SaysWhatWasChosenAndWhatTheOtherWouldCost) {
  json answer = documented("offload");
  const std::string text = render_offload(answer, {});
  EXPECT_NE(text.find("cuda:0"), std::string::npos) << text;
  EXPECT_NE(text.find("core 2 ipv6: on the CPU, costs; 14.2 ns a packet here, 19.5 ns there\n"),
            std::string::npos)
      << text;
  answer["devices"][0]["state"] = "stopped";
  answer["devices"][0]["cause"] = "late answers";
  EXPECT_NE(render_offload(answer, {}).find("late answers"), std::string::npos);
  EXPECT_EQ(render_offload({{"found", "none"}}, {}), "no device: none\n");
}

}  // namespace
}  // namespace hecto::cli
