"""Metrics, and the listener on loopback: what it tells, and to whom."""

import contextlib
import ctypes
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from conftest import make_pair
from lab import HECTO, sh, wait_for

PORT = 18080
HERE = f"127.0.0.1:{PORT}"
LIBC = ctypes.CDLL(None, use_errno=True)
PACKAGING = Path(__file__).parents[2] / "packaging"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool: package prometheus")
prometheus = pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus")


@contextlib.contextmanager
def inside(space):
    """Sockets that this thread makes meanwhile are in the namespace."""
    with open("/proc/thread-self/ns/net") as own, open(f"/run/netns/{space.name}") as other:
        assert LIBC.setns(other.fileno(), 0) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert LIBC.setns(own.fileno(), 0) == 0, os.strerror(ctypes.get_errno())


def ask(space, method="GET", path="/metrics", fields=None, body=None, port=PORT):
    """Over TCP: the answer with its text."""
    with inside(space):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request(method, path, body=body, headers=fields or {})
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
    return answer


def samples(text):
    """{'hecto_x_total{port="a0"}': 7.0}"""
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    assert len({name for name, _ in lines}) == len(lines), "a series comes twice"
    return {name: float(value) for name, value in lines}


@pytest.fixture
def bed(lab):
    the_bed = make_pair(lab, start=False)
    the_bed.config["api"] = {"socket": str(the_bed.router.socket), "http": HERE}
    the_bed.router.start(the_bed.config)
    for address in ("10.2.0.1", "fd00:2::1"):
        the_bed.a.ping(address, count=1, ok=False)
        the_bed.a.ping(address, count=1)
    the_bed.space = the_bed.router.space
    return the_bed


def test_a_scrape_while_packets_flow_says_what_the_api_says(bed):
    bed.router.request("POST", "/v1/routes", {"to": "198.18.0.0/15", "type": "blackhole"})
    flood = bed.a.start("ping -n -i 0.002 10.2.0.1")
    first = samples(ask(bed.space).text)
    time.sleep(3)
    second = samples(ask(bed.space).text)
    passed = 'hecto_port_receive_packets_total{port="a0"}'
    assert second[passed] - first[passed] > 500
    assert second["hecto_uptime_seconds"] > first["hecto_uptime_seconds"]
    flood.terminate()
    flood.wait()
    bed.a.ping("198.18.0.1", count=5, timeout=1, ok=False)

    def equal():
        scrape = samples(ask(bed.space).text)
        drops = bed.router.get("/v1/drops")
        ports = bed.router.get("/v1/ports")["ports"]
        for port in ports:
            for ours, there in (("receive", "rx"), ("transmit", "tx")):
                for what in ("packets", "bytes", "errors"):
                    name = f'hecto_port_{ours}_{what}_total{{port="{port["name"]}"}}'
                    assert scrape[name] == port[there][what], name
            assert scrape[f'hecto_port_up{{port="{port["name"]}"}}'] == 1
        for drop in drops["drops"]:
            assert scrape[f'hecto_dropped_packets_total{{reason="{drop["reason"]}",'
                          f'stage="{drop["stage"]}",kind="{drop["kind"]}"}}'] == drop["packets"]
        for punt in drops["punts"]:
            assert scrape[f'hecto_punted_packets_total{{reason="{punt["reason"]}"}}'] == (
                punt["packets"])
        for name in ("dropped", "punted"):
            total = sum(value for series, value in scrape.items()
                        if series.startswith(f"hecto_{name}_packets_total"))
            assert total == drops["totals"][name]
        for worker in bed.router.get("/v1/workers")["workers"]:
            assert scrape[f'hecto_worker_packets_total{{worker="{worker["id"]}"}}'] == (
                worker["packets"])
        for pool in bed.router.get("/v1/pools")["pools"]:
            assert scrape[f'hecto_pool_size_mbufs{{pool="{pool["name"]}",'
                          f'socket="{pool["socket"]}"}}'] == pool["size"]
        counts = bed.router.get("/v1/routes?limit=1")["counts"]
        assert scrape['hecto_routes{family="ipv4"}'] == counts["ipv4"]
        return scrape
    scrape = wait_for(equal, 10, "the same numbers, a second after the last packet")
    assert scrape['hecto_dropped_packets_total{reason="blackhole",stage="lookup",kind="drop"}'] == 5
    assert scrape["hecto_gate_open"] == 1 and scrape["hecto_mirror_synchronized"] == 1


def test_both_formats_on_both_listeners(bed):
    for accept, kind in ((None, OPEN_METRICS), ("text/plain", "text/plain; version=0.0.4; "
                                                "charset=utf-8")):
        over_tcp = ask(bed.space, fields={"Accept": accept} if accept else {})
        assert over_tcp.status == 200 and over_tcp.headers["Content-Type"] == kind
        assert over_tcp.text.endswith("# EOF\n") == (kind == OPEN_METRICS)
        words = ["curl", "-s", "--unix-socket", str(bed.router.socket), "http://localhost/metrics"]
        over_unix = sh(words + (["-H", f"Accept: {accept}"] if accept else []))
        assert samples(over_unix).keys() == samples(over_tcp.text).keys()


def test_a_change_of_routes_is_timed(bed):
    before = samples(ask(bed.space).text)
    for i in range(20):
        bed.router.linux_sh(f"ip route add 203.0.113.{i}/32 via 10.2.0.1")
        time.sleep(0.02)

    def timed():
        after = samples(ask(bed.space).text)
        count = "hecto_route_update_seconds_count"
        assert after[count] - before[count] >= 20
        return after
    after = wait_for(timed, 5, "updates are counted")
    assert 0 < after["hecto_route_update_seconds_sum"] < 5
    assert after["hecto_control_turn_seconds_count"] > before["hecto_control_turn_seconds_count"]


@promtool
def test_promtool_finds_nothing_wrong(bed):
    text = ask(bed.space, fields={"Accept": "text/plain"}).text
    check = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                           capture_output=True, timeout=60)
    assert check.returncode == 0 and not check.stdout + check.stderr, check.stdout + check.stderr


def test_pythons_parser_of_openmetrics_reads_it(bed):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    families = {f.name: f for f in parser.text_string_to_metric_families(ask(bed.space).text)}
    assert len(families) > 70
    assert families["hecto_port_receive_bytes"].type == "counter"
    assert families["hecto_port_receive_bytes"].unit == "bytes"
    assert families["hecto_build"].type == "info"
    assert families["hecto_route_update_seconds"].type == "histogram"
    for family in families.values():
        assert family.documentation, family.name


@prometheus
def test_prometheus_scrapes_it(bed):
    folder = bed.router.folder
    (folder / "prometheus.yml").write_text(yaml.safe_dump({
        "global": {"scrape_interval": "1s"},
        "rule_files": [str(PACKAGING / "prometheus" / "alerts.yaml")],
        "scrape_configs": [{"job_name": "hecto", "static_configs": [{"targets": [HERE]}]}]}))
    bed.space.start(["prometheus", f"--config.file={folder}/prometheus.yml",
                     f"--storage.tsdb.path={folder}/tsdb", "--web.listen-address=127.0.0.1:19090"])

    def query(expression):
        answer = ask(bed.space, path="/api/v1/query?query=" + expression, port=19090)
        assert answer.status == 200, answer.text
        return json.loads(answer.text)["data"]["result"]
    wait_for(lambda: query("up")[0]["value"][1] == "1", 20, "Prometheus has scraped")
    bed.a.ping("10.2.0.1", count=10)

    def same():  # hosts ask for neighbors at any time
        counted = bed.router.get("/v1/ports")["ports"]
        found = {row["metric"]["port"]: int(row["value"][1])
                 for row in query("hecto_port_receive_packets_total")}
        return found == {port["name"]: port["rx"]["packets"] for port in counted}
    wait_for(same, 10, "its numbers are ours")
    targets = json.loads(ask(bed.space, path="/api/v1/targets", port=19090).text)
    assert [t["lastError"] for t in targets["data"]["activeTargets"]] == [""]


FOREIGN = [({"Host": f"evil.example:{PORT}"}, 421), ({"Host": "127.0.0.1"}, 421),
           ({"Origin": "https://evil.example"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403),
           ({"Authorization": "Bearer of-no-token-at-all"}, 401)]


@pytest.mark.parametrize("fields, status", FOREIGN, ids=lambda v: str(v))
def test_a_foreign_page_gets_nothing(bed, fields, status):
    for path in ("/metrics", "/v1/summary"):
        answer = ask(bed.space, path=path, fields=fields)
        assert answer.status == status and list(json.loads(answer.text)) == ["error"]
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_who_looks_changes_nothing(bed):
    before = bed.router.get("/v1/routes?limit=1")["counts"]
    for method, path, body in (("POST", "/v1/routes", '{"to": "10.9.0.0/16", "type": "blackhole"}'),
                               ("DELETE", "/v1/routes?all=1", None), ("POST", "/v1/reload", None),
                               ("POST", "/v1/trace", None), ("GET", "/v1/capture/keys", None)):
        answer = ask(bed.space, method, path, body=body)
        assert answer.status == 403, (path, answer.text)
        assert "yours is read" in json.loads(answer.text)["error"]
    assert ask(bed.space, "POST", "/metrics").status == 403
    assert bed.router.get("/v1/routes?limit=1")["counts"] == before


def test_a_token_operates_and_a_reload_takes_another(lab):
    bed = make_pair(lab, start=False)
    token = bed.router.folder / "token"
    token.write_text("first-of-sixteen\n")
    token.chmod(0o600)
    bed.config["api"] = {"socket": str(bed.router.socket), "http": HERE,
                         "http_token_file": "token"}
    bed.router.start(bed.config)
    space = bed.router.space

    def statuses(word):
        fields = {"Authorization": f"Bearer {word}"}
        return [ask(space, method, path, fields, body).status
                for method, path, body in (("POST", "/v1/trace", '{"count": 1}'),
                                           ("DELETE", "/v1/routes?all=1", None))]
    assert statuses("first-of-sixteen") == [200, 403]
    token.write_text("second-of-sixteen\n")
    assert "another token" in bed.router.cli("reload")
    assert statuses("second-of-sixteen") == [200, 403]
    assert statuses("first-of-sixteen") == [401, 401]
    token.chmod(0o644)
    assert "chmod 600" in bed.router.cli("reload", check=False)
    assert "of-sixteen" not in bed.router.cli("show", "config") + bed.router.log()


def test_scrapers_that_never_read_hold_up_nobody_else(bed):
    with inside(bed.space):
        stuck = []
        for _ in range(100):
            client = socket.create_connection(("127.0.0.1", PORT), timeout=10)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(f"GET /metrics HTTP/1.1\r\nHost: {HERE}\r\n\r\n".encode() * 20)
            stuck.append(client)
    for _ in range(10):
        begin = time.monotonic()
        bed.router.get("/v1/summary")
        assert time.monotonic() - begin < 1
    assert "hecto_gate_open 1" in sh(["curl", "-s", "--unix-socket", str(bed.router.socket),
                                      "http://localhost/metrics"])
    # And the listener itself: a place is made for who comes.
    assert wait_for(lambda: ask(bed.space).status == 200, 10, "the next scraper is answered")
    for client in stuck:
        client.close()


def test_another_port_waits_for_a_restart_and_a_taken_one_ends_no_start(bed):
    bed.config["api"]["http"] = "127.0.0.1:18081"
    bed.router.write(bed.config)
    said = bed.router.cli("reload", check=False)
    assert 'api.http: "127.0.0.1:18080" runs' in said and "restart hectod" in said, said
    assert ask(bed.space).status == 200
    other = bed.lab.router("other", bed.space)
    other.start({"ports": {"c0": {"device": "net_null0,no-rx=1"}}, "linux": "off",
                 "api": {"socket": str(other.socket), "http": HERE}})
    assert f"API listener {HERE}: cannot listen: Address already in use: no HTTP" in other.log()
    assert ask(bed.space).status == 200, "who had it has it still"


def test_check_refuses_what_others_could_reach(lab):
    router = lab.router()
    config = {"ports": {"c0": {"device": "net_null0"}}, "linux": "off"}
    for address, why in (("0.0.0.0:80", "no loopback address"), ("[::]:80", "no loopback address"),
                         ("192.0.2.1:80", "no loopback address"), ("127.0.0.1:0", "out of range"),
                         ("localhost:80", "no address with a port")):
        router.write({**config, "api": {"socket": str(router.socket), "http": address}})
        said = sh([HECTO, "check", "--elsewhere", router.file], check=False)
        assert len(said.splitlines()) == 1 and "api.http" in said and why in said, said


def names_in(text):
    return set(re.findall(r"hecto_[a-z0-9_]+", text))


def known_names(text):
    """Of a scrape in the plain format, also of families without samples."""
    known = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M):
        known |= ({name + suffix for suffix in ("_bucket", "_count", "_sum")}
                  if kind == "histogram" else {name})
    return known


def test_dashboard_and_alerts_ask_for_what_there_is(bed):
    known = known_names(ask(bed.space, fields={"Accept": "text/plain"}).text)
    dashboard = json.loads((PACKAGING / "grafana" / "hecto.json").read_text())
    asked = set()
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            asked |= names_in(target["expr"])
    for variable in dashboard["templating"]["list"]:
        asked |= names_in(json.dumps(variable))
    alerts = yaml.safe_load((PACKAGING / "prometheus" / "alerts.yaml").read_text())
    for group in alerts["groups"]:
        for rule in group["rules"]:
            asked |= names_in(rule["expr"])
    assert len(asked) > 30 and asked <= known, asked - known
    documented = (PACKAGING.parent / "docs" / "metrics.md").read_text()
    questions = documented[documented.index("## What one asks"):documented.index("## All metrics")]
    assert names_in(questions) <= known, names_in(questions) - known


@promtool
def test_the_dashboards_expressions_are_promql(tmp_path):
    panels = json.loads((PACKAGING / "grafana" / "hecto.json").read_text())["panels"]
    rules = [{"record": f"panel:{panel['id']}_{target['refId']}",
              "expr": target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")}
             for panel in panels for target in panel.get("targets", [])]
    assert len(rules) > 50
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in sh(["promtool", "check", "rules", str(file)])


@promtool
def test_the_alerts_are_rules_and_fire_when_they_should():
    rules = PACKAGING / "prometheus" / "alerts.yaml"
    sh(["promtool", "check", "rules", str(rules)])
    sh(["promtool", "test", "rules", str(rules.with_name("alerts_test.yaml"))])
    named = {rule["alert"] for group in yaml.safe_load(rules.read_text())["groups"]
             for rule in group["rules"]}
    tests = yaml.safe_load(rules.with_name("alerts_test.yaml").read_text())["tests"]
    fired = {case["alertname"] for test in tests for case in test["alert_rule_test"]
             if case.get("exp_alerts")}
    quiet = {case["alertname"] for test in tests for case in test["alert_rule_test"]
             if not case.get("exp_alerts")}
    assert named == fired == quiet, (named - fired, named - quiet)
