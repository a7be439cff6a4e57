#include "router/cli/machine_arguments.hpp"

namespace hecto::cli {
namespace {

constexpr const char* kForce = "also what carries the default route or an SSH session";
constexpr const char* kNoiommu = "VFIO without an IOMMU: the NIC may write to all of the memory";

void add_devices(CLI::App& verb, Arguments& a, const char* text) {
  verb.add_option("DEVICE", a.devices, text)->option_text(" ");
}

}  // namespace

void add_machine_verbs(CLI::App& app, Arguments& a, AddVerb add_verb, const std::string& group) {
  CLI::App& doctor = add_verb(
      app, "doctor", "what of this machine keeps a router slow, or from starting",
      "One line a finding: what, what it costs, what mends it. ! is a problem (exit code 1), i\n"
      "advice. Silent, and exit code 0, when all is well. Needs no router.");
  doctor.group(group);
  doctor
      .add_option("FILE", a.object, "the configuration (default: /etc/hecto/hecto.yaml, if there)")
      ->option_text(" ");
  CLI::Option* fix = doctor.add_flag(
      "--fix", a.fix,
      "mends what is safe and says how to undo it: hugepages, transparent hugepages,\n"
      "governor, neighbor limits, GRO and LRO; until the machine restarts");
  doctor
      .add_flag("--persist", a.persist,
                "the same after a restart: files named hecto in /etc/sysctl.d and\n/etc/tmpfiles.d")
      ->needs(fix)
      ->option_text(" ");

  CLI::App& bind =
      add_verb(app, "bind", "gives NICs to DPDK (vfio-pci), and remembers who had them",
               "All of them or none: what fails is undone. What was there before stands in\n"
               "/var/lib/hecto/bound.json, for hecto unbind.");
  bind.group(group);
  add_devices(bind, a, "PCI addresses or interfaces");
  bind.get_option("DEVICE")->required();
  bind.add_option("--vfs", a.vfs, "so many VFs (SR-IOV) of each device, made and bound; it stays")
      ->option_text("N")
      ->check(CLI::Range(1, 256));
  bind.add_flag("--force", a.force, kForce);
  bind.add_flag("--noiommu", a.noiommu, kNoiommu);

  CLI::App& unbind =
      add_verb(app, "unbind", "gives NICs back to the kernel: driver and name of before",
               "VFs that bind made are taken away: name their device.");
  unbind.group(group);
  add_devices(unbind, a, "PCI addresses, or interfaces of devices with VFs");
  unbind.add_flag("--all", a.all, "all that hecto bind took");
  unbind.add_flag("--force", a.force, "though hectod runs: waits until it lets go");

  CLI::App& prepare = add_verb(
      app, "prepare", "hugepages and NICs as a configuration needs them, before hectod starts",
      "Changes nothing that is as it should be. hecto-prepare.service runs it.");
  prepare.group(group);
  prepare.add_option("FILE", a.object, "the configuration")->option_text(" ")->required();
  prepare.add_flag("--force", a.force, kForce);
  prepare.add_flag("--noiommu", a.noiommu, kNoiommu);
}

}  // namespace hecto::cli
