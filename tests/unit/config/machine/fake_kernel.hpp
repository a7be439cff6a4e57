// A sysfs that does what Linux's does to drivers and VFs, and tells each write.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "config/machine/binding.hpp"
#include "tests/beds/machine_tree.hpp"

namespace hecto::config::test {

class FakeKernel : public MachineTree, public MachineFiles, public KernelCalls {
 public:
  FakeKernel() : MachineFiles(root()) {
    file("/sys/bus/pci/drivers_probe", "");
    driver("vfio-pci");
  }

  void driver(const std::string& name) const {
    file("/sys/bus/pci/drivers/" + name + "/unbind", "");
  }
  // A NIC that `native` drives as `interface`, alone in its IOMMU group.
  void nic(const std::string& pci, const std::string& native, const std::string& interface) {
    natives_[pci] = native;
    interfaces_[pci] = interface;
    driver(native);
    file(device(pci) + "/driver_override", "");
    folder(device(pci) + "/iommu_group/devices/" + pci);
    folder("/sys/kernel/iommu_groups/1");
    probe(pci);
  }
  void group(const std::string& pci, const std::string& other) const {
    folder(device(pci) + "/iommu_group/devices/" + other);
    folder(device(other) + "/iommu_group/devices/" + pci);
  }
  void sriov(const std::string& pci, unsigned most) const {
    file(device(pci) + "/sriov_totalvfs", std::to_string(most));
    file(device(pci) + "/sriov_numvfs", "0");
    file(device(pci) + "/sriov_drivers_autoprobe", "1");
  }
  static std::string device(const std::string& pci) { return "/sys/bus/pci/devices/" + pci; }
  std::string driver_now(const std::string& pci) const { return target(device(pci) + "/driver"); }

  Result<void> write(const std::string& path, const std::string& text) override {
    writes.push_back(path + "=" + (text == "\n" ? "" : text));
    if (fails_at == writes.size() || failing == path) return fail(path + ": failed", EIO);
    if (auto done = MachineFiles::write(path, text); !done) return done;
    if (path == "/sys/bus/pci/drivers_probe") probe(text);
    if (path.ends_with("/driver/unbind")) unbind(text);
    if (path.ends_with("/sriov_numvfs")) functions(path, std::stoul(text));
    if (path.ends_with("/nr_hugepages"))
      file(path, std::to_string(std::min(std::stoul(text), most_pages)));
    return {};
  }

  Result<void> load_module(const std::string& module) override {
    loaded.push_back(module);
    driver(module);
    return {};
  }
  Result<void> rename(const std::string& interface, const std::string& name) override {
    renamed.push_back(interface + " to " + name);
    return {};
  }
  std::vector<std::string> addresses(const std::string& interface) const override {
    const auto at = ips.find(interface);
    return at == ips.end() ? std::vector<std::string>{} : at->second;
  }

  std::vector<std::string> writes, loaded, renamed;
  size_t fails_at = 0;                  // the write of that number, from 1
  std::string failing;                  // each write to that path
  std::set<std::string> refuses;        // devices that vfio-pci does not take
  unsigned most_functions = 64;         // that the NIC really makes
  unsigned long most_pages = 1u << 20;  // hugepages that are to be had
  std::map<std::string, std::string> comes_back_as;
  std::map<std::string, std::vector<std::string>> ips;

 private:
  void probe(const std::string& pci) {
    const std::string forced = text(device(pci) + "/driver_override").value_or("");
    const std::string wanted = forced.empty() ? natives_[pci] : forced;
    if (wanted.empty() || (forced == "vfio-pci" && refuses.contains(pci)) ||
        !driver_now(pci).empty())
      return;
    link(device(pci) + "/driver", "../../drivers/" + wanted);
    if (wanted != natives_[pci] || interfaces_[pci].empty()) return;
    const std::string name = comes_back_as.contains(pci) ? comes_back_as[pci] : interfaces_[pci];
    folder(device(pci) + "/net/" + name);
    folder("/sys/class/net/" + name);
  }
  void unbind(const std::string& pci) const {
    remove(device(pci) + "/driver");
    remove(device(pci) + "/net");
  }
  // "0000:17:00.0" has VFs 0000:17:10.0 and on.
  void functions(const std::string& path, unsigned long count) {
    const std::string parent = path.substr(0, path.rfind('/'));
    for (unsigned i = 0; i < 64; ++i) {
      const std::string number = std::to_string(i);
      const std::string pci = "0000:17:10." + number;
      remove(parent + "/virtfn" + number);
      remove(device(pci));
      if (i >= std::min<unsigned long>(count, most_functions)) continue;
      link(parent + "/virtfn" + number, "../" + pci);
      file(device(pci) + "/driver_override", "");
      folder(device(pci) + "/iommu_group");
      natives_[pci] = "iavf";
      if (text(parent + "/sriov_drivers_autoprobe") == "1") probe(pci);
    }
  }

  std::map<std::string, std::string> natives_, interfaces_;
};

}  // namespace hecto::config::test
