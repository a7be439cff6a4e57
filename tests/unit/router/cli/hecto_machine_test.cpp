// The verbs of this machine. None of them changes it here: what they write is for
// tests/unit/config/machine and tests/unit/config/doctor to see, on files of their own.
#include "tests/unit/router/cli/hecto_bed.hpp"

namespace hecto::cli {
namespace {

class HectoMachineTest : public HectoTest {
 protected:
  void SetUp() override {}  // no router
};

TEST_F(HectoMachineTest, DoctorTellsALineAFindingAndTheSameAsJson) {
  const std::string file = write("a.yaml", "ports: {wan0: {device: hecto-none0}}\n");
  const Outcome text = run("doctor '" + file + "'");
  EXPECT_EQ(text.code, 1);
  EXPECT_EQ(text.err, "");
  EXPECT_NE(
      text.out.find("! wan0: this machine has no hecto-none0: hectod does not start → ip link "
                    "lists interfaces\n"),
      std::string::npos)
      << text.out;
  const Outcome raw = run("doctor --json '" + file + "'");
  EXPECT_EQ(raw.code, 1);
  const json answer = json::parse(raw.out);
  EXPECT_EQ(answer["ok"], false);
  EXPECT_EQ(answer["file"], file);
  EXPECT_EQ(answer["fixed"].size(), 0u);
  EXPECT_EQ(answer["interfaces"][0]["name"], "hecto-none0");
  size_t lines = 0;
  for (const char c : text.out) lines += c == '\n';
  EXPECT_EQ(answer["findings"].size(), lines);
  for (const json& finding : answer["findings"])
    for (const char* key : {"severity", "name", "what", "costs", "mend", "fix"})
      EXPECT_TRUE(finding.contains(key)) << key;
}

TEST_F(HectoMachineTest, DoctorWithoutProblemsIsCode0) {
  const Outcome outcome = run(
      "doctor --json '" + write("off.yaml", "linux: off\nports: {m: {device: net_null0}}\n") + "'");
  const json answer = json::parse(outcome.out);
  bool problem = false;
  for (const json& finding : answer["findings"]) problem |= finding["severity"] == "problem";
  EXPECT_EQ(answer["ok"], !problem);
  EXPECT_EQ(outcome.code, problem ? 1 : 0);
}

TEST_F(HectoMachineTest, DoctorTellsWhatIsWrongWithTheFile) {
  const std::string bad = write("bad.yaml", "ports:\n  wan0: {device: eth1, mtu: 90000}\n");
  const Outcome outcome = run("doctor '" + bad + "'");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err.rfind(bad + ":2: ports.wan0.mtu: 90000", 0), 0u) << outcome.err;
  EXPECT_EQ(run("prepare '" + bad + "'").code, 1);
  const Outcome unplaced =
      run("doctor '" + write("gone.yaml", "ports: {a: {device: net_null0}}\ncontrol_core: 4000\n") +
          "'");
  EXPECT_EQ(unplaced.code, 1);
  EXPECT_NE(unplaced.out.find("! control_core: there is no core 4000"), std::string::npos)
      << unplaced.out;
}

TEST_F(HectoMachineTest, BindRefusesWhatIsNotThere) {
  const Outcome outcome = run("bind hecto-none0");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "hecto: hecto-none0: this machine has no such device; lspci -D and ip link list those "
            "there are\n");
  const json answer = json::parse(run("bind --json hecto-none0").out);
  EXPECT_EQ(answer["ok"], false);
  EXPECT_EQ(answer["failed"].size(), 1u);
  EXPECT_EQ(run("bind lo").err,
            "hecto: lo is no PCI device: nothing to bind; a port takes it as it is\n");
}

TEST_F(HectoMachineTest, WrongUsageIsCode2) {
  for (const char* arguments : {"doctor --persist", "bind", "bind --vfs 0 eth1", "unbind",
                                "unbind --all eth1", "prepare"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(HectoMachineTest, HelpStaysIn100Columns) {
  for (const auto& [verb, word] : {std::pair("doctor", "--persist"),
                                   {"bind", "--vfs N"},
                                   {"unbind", "--all"},
                                   {"prepare", "hecto-prepare.service"}}) {
    const Outcome help = run(std::string(verb) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find(word), std::string::npos) << help.out;
    EXPECT_NE(help.out.find("Examples:\n  "), std::string::npos) << help.out;
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

}  // namespace
}  // namespace hecto::cli
