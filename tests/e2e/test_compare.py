"""hecto-bench compare and run: real programs side by side, briefly."""

import json
import shutil

import pytest

from lab import BUILD, sh

BENCH = BUILD / "bench" / "hecto-bench"


def compare(tmp_path, *options):
    file = tmp_path / "compare.json"
    text = sh([BENCH, "compare", "--quick", "--rounds", 1, "--routes", 50, "--json", file, *options],
              timeout=120)
    return json.loads(file.read_text()), text


def check(result, names):
    assert [peer["name"] for peer in result["peers"]] == names
    assert not result["partial"]
    for peer in result["peers"]:
        (size,) = peer["sizes"]
        assert size["mpps"]["median"] > 0, peer
        assert size["mpps"]["count"] == 1
        assert size["wrong"] == {}, peer


def test_hecto_beside_testpmd_over_memif(tmp_path):
    if shutil.which("dpdk-testpmd") is None:
        pytest.skip("dpdk-testpmd is not installed (package dpdk-dev)")
    names = ["hecto", "testpmd-io", "testpmd-mac"]
    result, text = compare(tmp_path, "--peers", ",".join(names))
    check(result, names)
    for name in names:
        assert name in text


def test_hecto_beside_linux_over_veth(tmp_path):
    result, _ = compare(tmp_path, "--ports", "veth", "--peers", "hecto,linux", "--rate", "20kpps",
                        "--family", "6")
    check(result, ["hecto", "linux"])
    assert "hcmp" not in sh("ip netns list")


def test_run_gives_a_folder_with_a_report(tmp_path):
    file = tmp_path / "burst.yaml"
    file.write_text("title: Burst\nquestion: Does it matter?\nmeasure: forward\n"
                    "options: {rounds: 1, round-ms: 5, routes: 100, next-hops: 4}\n"
                    "vary: {burst: [16, 64]}\nrepeat: 1\n"
                    "plot: {x: burst, y: {IPv4: /ipv4/mpps}, unit: Mpps}\n")
    sh([BENCH, "run", file, "--out", tmp_path / "out"], timeout=120)
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert not result["partial"]
    assert result["machine"]["kernel"] and result["machine"]["hecto"]
    assert all(point["figures"]["IPv4"]["median"] > 0 for point in result["points"])
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Does it matter?" in report
    if shutil.which("gnuplot"):
        assert "<svg" in report and (tmp_path / "out" / "plot.png").exists()
