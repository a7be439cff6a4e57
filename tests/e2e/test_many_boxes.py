"""What brings hecto to many boxes: the Ansible role, cloud-init, the dashboard of all of them. What can be held without them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from lab import HECTO, sh
from test_metrics import names_in

jinja2 = pytest.importorskip("jinja2")
ROOT = Path(__file__).resolve().parents[2]
ANSIBLE, EXAMPLES = ROOT / "packaging" / "ansible", ROOT / "config" / "examples" / "cluster"


def rendered(name, number, leaves=4):
    """As Ansible's template does, with trim_blocks."""
    groups = {"spines": [f"spine{n + 1}" for n in range(2)], "leaves": [f"leaf{n + 1}" for n in range(leaves)]}
    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.from_string((ANSIBLE / name).read_text()).render(number=number, groups=groups)


@pytest.mark.parametrize("role", ("spine", "leaf"))
def test_ansibles_templates_give_the_examples(role, tmp_path):
    """FRR's to the letter but for the heading, hecto's in what they say; and for every number what hecto takes."""
    frr = (EXAMPLES / role / "frr.conf").read_text()
    assert rendered(f"{role}.frr.conf.j2", 1).splitlines()[1:] == frr.splitlines()[1:]
    config = yaml.safe_load((EXAMPLES / role / "hecto.yaml").read_text())
    mine = yaml.safe_load(rendered(f"{role}.hecto.yaml.j2", 1))
    assert mine.pop("idle") == "poll" and config.pop("idle") == "adaptive" and mine == config
    for number in (2, 31):
        file = tmp_path / f"{number}.yaml"
        file.write_text(rendered(f"{role}.hecto.yaml.j2", number, leaves=31))
        assert sh([HECTO, "check", "--elsewhere", file]) == ""
        text = rendered(f"{role}.frr.conf.j2", number, leaves=31)
        assert f"10.255.{0 if role == 'spine' else 1}.{number}" in text and "{" not in text
    if role == "leaf":
        assert "fd00:0:1f::/64" in text and "router bgp 65131" in text and "10.0.31.0/24" in text


def test_the_role_is_yaml_and_every_task_has_a_name():
    role = ANSIBLE / "roles" / "hecto"
    tasks = yaml.safe_load((role / "tasks" / "main.yaml").read_text())
    tasks += [inner for task in tasks for inner in task.get("block", [])]
    handlers = yaml.safe_load((role / "handlers" / "main.yaml").read_text())
    assert len(tasks) > 8 and all(task["name"] for task in tasks)
    listened = {handler["listen"] for handler in handlers}
    assert {task["notify"] for task in tasks if "notify" in task} == listened
    written = [task for task in tasks if task.get("ansible.builtin.template", {}).get("dest") == "/etc/hecto/hecto.yaml"]
    assert written[0]["ansible.builtin.template"]["validate"] == "hecto check %s", "nothing unchecked replaces what runs"
    defaults = yaml.safe_load((role / "defaults" / "main.yaml").read_text())
    told = (ANSIBLE / "README.md").read_text()
    assert all(f"| `{name}` |" in told for name in [*defaults, "hecto_config"])


class Box:
    """What the handler sees of a box: systemctl and hecto that write down what they were asked, and a hectod that runs."""

    def __init__(self, folder):
        self.folder, self.said = folder, folder / "said"
        self.program = folder / "hectod"
        shutil.copy("/bin/sleep", self.program)
        self.running = subprocess.Popen([self.program, "60"])
        self.fake("systemctl", f'case "$1" in show) echo {self.running.pid};; is-active) exit $(cat {folder}/active-$3);; esac')
        self.fake("hecto", f'exit $(cat {folder}/code-$1)')
        self.set(**{"active-hectod": 0, "active-hecto-frr@bgpd": 0, "code-reload": 0, "code-drain": 0, "code-undrain": 0})

    def fake(self, name, script):
        (self.folder / name).write_text(f'#!/bin/sh\necho "$(basename $0) $*" >>{self.said}\n{script}\n')
        (self.folder / name).chmod(0o755)

    def set(self, **codes):
        for name, code in codes.items():
            (self.folder / name).write_text(f"{code}\n")

    def handler(self, **variables):
        """Its exit code, and what it changed, in order."""
        handlers = yaml.safe_load((ANSIBLE / "roles" / "hecto" / "handlers" / "main.yaml").read_text())
        text = next(one for one in handlers if one["listen"] == "hectod")["ansible.builtin.shell"]
        environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)
        script = environment.from_string(text).render(**{"hecto_drain": True, "hecto_frr_config": "frr.conf.j2", **variables})
        self.said.write_text("")
        run = subprocess.run(["sh", "-c", script], env={"PATH": f"{self.folder}:/usr/bin:/bin"}, timeout=30)
        asked = [line for line in self.said.read_text().splitlines() if line.split()[1] not in ("is-active", "show")]
        return run.returncode, asked


@pytest.fixture
def box(tmp_path):
    box = Box(tmp_path)
    yield box
    box.running.kill()
    box.running.wait()


RESTARTED = ["hecto drain", "systemctl restart hectod", "hecto undrain"]


def test_the_role_reloads_where_that_is_enough_and_a_drained_box_comes_back(box):
    assert box.handler() == (0, ["hecto reload"])
    box.set(**{"code-reload": 1})
    assert box.handler() == (0, ["hecto reload", *RESTARTED])
    assert box.handler(hecto_drain=False) == (0, ["hecto reload", "systemctl restart hectod"])
    assert box.handler(hecto_frr_config="") == (0, ["hecto reload", "systemctl restart hectod"])
    box.set(**{"active-hectod": 3})
    assert box.handler() == (0, ["systemctl restart hectod"])


def test_the_role_restarts_for_another_package(box):
    box.program.unlink()
    shutil.copy("/bin/true", box.program)
    assert box.handler() == (0, RESTARTED), "what runs is the one before, whatever it says to a reload"


def test_the_role_says_where_a_box_stays_drained(box):
    box.set(**{"code-reload": 1, "code-drain": 1, "code-undrain": 1})
    assert box.handler() == (1, ["hecto reload", *RESTARTED])
    box.set(**{"active-hecto-frr@bgpd": 3})
    assert box.handler()[0] == 0, "without bgpd nothing was drained"


def test_ansible_itself_takes_it():
    if shutil.which("ansible-playbook") is None:
        pytest.skip("ansible-playbook is not here")
    run = subprocess.run(["ansible-playbook", "-i", "inventory.yaml", "cluster.yaml", "--syntax-check"], cwd=ANSIBLE,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert run.returncode == 0, run.stdout


def test_cloud_inits_example_is_right(tmp_path):
    text = (ROOT / "packaging" / "cloud-init" / "hecto.yaml").read_text()
    assert text.startswith("#cloud-config\n")
    data = yaml.safe_load(text)
    files = {file["path"]: file["content"] for file in data["write_files"]}
    config = tmp_path / "hecto.yaml"
    config.write_text(files["/etc/hecto/hecto.yaml"])
    assert sh([HECTO, "check", "--elsewhere", config]) == ""
    assert "router bgp" in files["/etc/frr/hecto/frr.conf"]
    assert all(isinstance(word, str) for command in data["runcmd"] for word in command)
    commands = [" ".join(command) for command in data["runcmd"]]
    check, start = (next(i for i, c in enumerate(commands) if c.startswith(begin))
                    for begin in ("hecto check", "systemctl enable"))
    assert check < start
    if shutil.which("cloud-init"):
        sh(["cloud-init", "schema", "--config-file", ROOT / "packaging" / "cloud-init" / "hecto.yaml"])


def test_the_clusters_dashboard_asks_for_what_hecto_has():
    families = names_in((ROOT / "router" / "api" / "metrics" / "families.cpp").read_text())
    whole = json.loads((ROOT / "packaging" / "grafana" / "hecto-cluster.json").read_text())
    panels = [panel for panel in whole["panels"] if panel["type"] != "row"]
    asked = {name for panel in panels for target in panel["targets"] for name in names_in(target["expr"])}
    assert len(panels) >= 10 and len(asked) >= 8
    for name in asked:
        plain = name.removesuffix("_total").removesuffix("_bucket").removesuffix("_info")
        assert name in families or plain in families, name
    ids = [panel["id"] for panel in whole["panels"]]
    assert len(set(ids)) == len(ids)
    assert whole["uid"] != json.loads((ROOT / "packaging" / "grafana" / "hecto.json").read_text()).get("uid")
    if shutil.which("promtool"):
        rules = [{"record": f"panel:{p['id']}_{t['refId']}", "expr": t["expr"].replace("$__rate_interval", "1m")
                  .replace("$instance", ".*")} for p in panels for t in p["targets"]]
        run = subprocess.run(["promtool", "check", "rules", "/dev/stdin"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, input=yaml.safe_dump({"groups": [{"name": "c", "rules": rules}]}))
        assert f"{len(rules)} rules found" in run.stdout, run.stdout
