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
