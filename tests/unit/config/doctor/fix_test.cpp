#include "config/doctor/fix.hpp"

#include "tests/unit/config/doctor/patient.hpp"

namespace hecto::config::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ScriptedEthtool : public Ethtool {
 public:
  Result<void> set(const std::string& interface, InterfaceFeature feature, bool on) override {
    asked.push_back(interface + " " + to_string(feature) + (on ? " on" : " off"));
    if (refuses) return fail(interface + ": gro cannot be switched: Operation not supported");
    return {};
  }
  std::vector<std::string> asked;
  bool refuses = false;
};

class DoctorFix : public Patient {
 protected:
  DoctorFix() {
    tree.file(kThp, "[always] madvise never\n");
    tree.file(kThresh, "1024\n");
    for (const char* lower : {"1", "2"})
      tree.file(std::string("/proc/sys/net/ipv4/neigh/default/gc_thresh") + lower, "131072\n");
  }
  Fixes run(bool persist = false) {
    return fix(examine(machine), files, ethtool, persist, right_settings(machine));
  }

  const std::string kThp = "/sys/kernel/mm/transparent_hugepage/enabled";
  const std::string kThresh = "/proc/sys/net/ipv4/neigh/default/gc_thresh3";
  ScriptedEthtool ethtool;
};

TEST_F(DoctorFix, WritesAndSaysHowToUndoIt) {
  const Fixes fixes = run();
  EXPECT_THAT(fixes.failed, IsEmpty());
  ASSERT_EQ(fixes.done.size(), 2u);
  EXPECT_EQ(fixes.done[0].what, kThp + " is madvise, was always");
  EXPECT_EQ(fixes.done[0].undo, "echo always > " + kThp);
  EXPECT_EQ(fixes.done[1].undo, "echo 1024 > " + kThresh);
  EXPECT_EQ(files.text(kThresh), "131072");
  EXPECT_FALSE(files.exists("/etc")) << "nothing that lasts";
  EXPECT_THAT(run().done, IsEmpty()) << "a second run finds nothing";
}

TEST_F(DoctorFix, TouchesOnlyWhatIsSafe) {
  tree.file("/sys/kernel/mm/ksm/run", "1\n");
  tree.file("/proc/swaps", "Filename\n/dev/sda2\n");
  run();
  EXPECT_EQ(files.text("/sys/kernel/mm/ksm/run"), "1");
}

TEST_F(DoctorFix, PersistsInFilesOfItsName) {
  const Fixes fixes = run(true);
  EXPECT_EQ(files.text(kSysctlFile),
            "# Written by hecto doctor --fix --persist.\n"
            "net.ipv4.neigh.default.gc_thresh3 = 131072\n"
            "net.ipv4.neigh.default.gc_thresh2 = 131072\n"
            "net.ipv4.neigh.default.gc_thresh1 = 131072");
  EXPECT_EQ(files.text(kTmpfilesFile),
            "# Written by hecto doctor --fix --persist.\nw " + kThp + " - - - - madvise");
  EXPECT_EQ(fixes.done.back().undo, "rm /etc/tmpfiles.d/hecto.conf");
}

TEST_F(DoctorFix, KeepsWhatWasPersistedBeforeAndReplacesTheSame) {
  tree.file(kSysctlFile,
            "net.core.somaxconn = 8192\nnet.ipv4.neigh.default.gc_thresh3 = 4096\n"
            "net.ipv4.neigh.default.gc_thresh30 = 1\n");
  run(true);
  EXPECT_EQ(files.text(kSysctlFile),
            "net.core.somaxconn = 8192\nnet.ipv4.neigh.default.gc_thresh30 = 1\n"
            "net.ipv4.neigh.default.gc_thresh3 = 131072\n"
            "net.ipv4.neigh.default.gc_thresh2 = 131072\n"
            "net.ipv4.neigh.default.gc_thresh1 = 131072");
}

TEST_F(DoctorFix, PersistsWhatIsAsItShouldBeAlready) {
  configure("workers: {0: [2]}\nports: {lan0: {device: eth1}}\n", plain_box(4));
  const std::string governor = "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor";
  const std::string pages =
      "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
  tree.file(governor, "performance\n");
  tree.file(pages, "4096\n");
  tree.file("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "4096\n");
  tree.file(kThp, "always [madvise] never\n");
  tree.file(kThresh, "262144\n");
  EXPECT_THAT(run().done, IsEmpty());
  EXPECT_FALSE(files.exists("/etc")) << "nobody asked for it";
  const Fixes fixes = run(true);
  EXPECT_THAT(fixes.failed, IsEmpty());
  EXPECT_EQ(fixes.done.size(), 2u);
  EXPECT_EQ(files.text(kSysctlFile),
            "# Written by hecto doctor --fix --persist.\n"
            "net.ipv4.neigh.default.gc_thresh3 = 262144\n"
            "net.ipv4.neigh.default.gc_thresh2 = 131072\n"
            "net.ipv4.neigh.default.gc_thresh1 = 131072");
  EXPECT_EQ(files.text(kTmpfilesFile), "# Written by hecto doctor --fix --persist.\nw " + pages +
                                           " - - - - 4096\nw " + kThp + " - - - - madvise\nw " +
                                           governor + " - - - - performance");
  EXPECT_THAT(run(true).done, IsEmpty()) << "a second run changes nothing";
}

TEST_F(DoctorFix, PersistsNoTransparentHugepagesThatSomebodySwitchedOff) {
  tree.file(kThp, "always madvise [never]\n");
  run(true);
  EXPECT_FALSE(files.exists(kTmpfilesFile));
  EXPECT_TRUE(files.exists(kSysctlFile));
}

TEST_F(DoctorFix, SwitchesOffMergingAndSaysThatNoFileKeepsIt) {
  tree.remove("/sys");
  tree.remove("/proc");
  configure("ports: {lan0: {device: eth1}}\n", plain_box(4));
  machine.facts["eth1"].gro = machine.facts["eth1"].lro = true;
  const Fixes fixes = run(true);
  EXPECT_THAT(ethtool.asked, ElementsAre("eth1 gro off", "eth1 lro off"));
  EXPECT_EQ(fixes.done[0].undo, "ethtool -K eth1 gro on");
  EXPECT_EQ(fixes.done[1].what,
            "lro of eth1 is off, which no file keeps: hectod does it at each start");
  EXPECT_THAT(fixes.failed, IsEmpty());
  EXPECT_FALSE(files.exists("/etc"));
  ethtool.refuses = true;
  EXPECT_THAT(run().done, IsEmpty());
  EXPECT_EQ(run().failed.size(), 2u);
}

TEST_F(DoctorFix, TellsWhatCouldNotBeWritten) {
  tree.remove(kThp);
  tree.folder(kThp);  // writing fails
  Findings findings = {{Severity::kAdvice, "x", "x", "x", "x", {{kThp, "madvise", {}, {}}}}};
  const Fixes fixes = fix(findings, files, ethtool, true);
  EXPECT_THAT(fixes.failed, ElementsAre(HasSubstr(kThp + ": Is a directory")));
  EXPECT_THAT(fixes.done, IsEmpty());
  EXPECT_FALSE(files.exists(kTmpfilesFile)) << "what did not work is not kept either";
}

// The kernel takes what it can of hugepages, without a word.
class FewPages : public MachineFiles {
 public:
  using MachineFiles::MachineFiles;
  Result<void> write(const std::string& path, const std::string&) override {
    return MachineFiles::write(path, "30");
  }
};

TEST_F(DoctorFix, ReadsBackWhatItWrote) {
  const std::string file = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
  tree.file(file, "0");
  FewPages few(tree.root());
  const Fixes fixes =
      fix({{Severity::kAdvice, "h", "h", "h", "h", {{file, "70", {}, {}}}}}, few, ethtool, false);
  ASSERT_EQ(fixes.done.size(), 1u);
  EXPECT_EQ(fixes.done[0].what, file + " is 30, was 0");
  EXPECT_THAT(fixes.failed, ElementsAre(HasSubstr("is 30 of 70")));
}

}  // namespace
}  // namespace hecto::config::test
