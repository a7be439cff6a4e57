"""calibrate, compare-plan, forward and scale as a user runs them: no speed is asserted."""

import json
import os
import subprocess

import pytest

import lab as labs

ROUTES = "".join(f"10.{i}.0.0/16\n2a00:{i:x}::/32\n" for i in range(200))


@pytest.fixture
def bench(tmp_path):
    table = tmp_path / "routes.txt"
    table.write_text(ROUTES)

    def run(*words, fails=False, env=None):
        done = subprocess.run([labs.BUILD / "bench/hecto-bench", *words], cwd=tmp_path, text=True,
                              capture_output=True, timeout=120, env=env)
        assert fails is None or (done.returncode != 0) == fails, done.stdout + done.stderr
        return done

    run.table = ["--table", str(table)]
    run.path = tmp_path
    return run


def test_forward_measures_every_mode_with_a_mix_of_sizes(bench):
    done = bench("forward", *bench.table, "--mode", "all", "--size", "imix", "--copied",
                 "--rounds", "2", "--round-ms", "5", "--json", "-")
    answer = json.loads(done.stdout)
    assert answer["routes"] == 400 and abs(answer["frame_bytes"] - 360.2) < 0.1
    for series in ("rx", "tx", "floor", "ipv4", "ipv6"):
        assert answer[series]["mpps"] > 0
    assert [point["cache"] for point in answer["points"]] == ["l1", "l2", "l3"]
    assert answer["ipv4"] == answer["points"][1]["ipv4"] and answer["points"][1]["ring_packets"] >= 4096
    assert answer["verified"] >= 3 * 2 * 65536 and answer["counters"]
    assert answer["ipv4"]["cycles_over_floor"] == pytest.approx(
        answer["ipv4"]["cycles_per_packet"] - answer["floor"]["cycles_per_packet"])


def test_ipsec_carries_every_packet_through_its_tunnels(bench):
    done = bench("ipsec", *bench.table, "--algorithm", "aes-128-gcm,aes-128-cbc+hmac-sha1",
                 "--size", "64,imix", "--tunnels", "1,100", "--workers", "1", "--no-control",
                 "--rounds", "2", "--round-ms", "2", "--json", "-")
    answer = json.loads(done.stdout)
    rows = {(row["algorithm"], row["size"], row["tunnels"], row["direction"]): row
            for row in answer["rows"]}
    assert len(rows) == len(answer["rows"]) == 16
    # Two algorithms, two sizes, two numbers of tunnels: each destination out, each frame in.
    assert answer["verified"] >= 2 * 2 * 2 * (65536 + 256)
    assert all(row["mpps"] > 0 and row["share_of_raw"] > 0 for row in rows.values())
    assert rows["aes-128-gcm", "imix", 100, "decap"]["copy_ns"] >= 0
    assert len(answer["alone"]) == 4
    assert all(row["own_ns"] > 0 and row["librte_ipsec_ns"] > 0 for row in answer["alone"])


def test_ipsec_workers_share_a_tunnel(bench):
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("one core")
    done = bench("ipsec", *bench.table, "--algorithm", "aes-128-gcm", "--size", "64", "--tunnels",
                 "1", "--workers", "2", "--no-control", "--no-peers", "--rounds", "3", "--round-ms", "40",
                 "--json", "-")
    rows = {(row["workers"], row["direction"]): row for row in json.loads(done.stdout)["rows"]}
    assert set(rows) == {(1, "encap"), (1, "decap"), (2, "encap"), (2, "decap")}
    assert all(rows[2, direction]["of_one_worker"] > 0 for direction in ("encap", "decap"))
    assert f"use 1 to {cores}" in bench("ipsec", "--workers", str(cores + 1), fails=True).stderr


def test_scale_counts_what_workers_on_their_own_cores_do(bench):
    done = bench("scale", *bench.table, "--workers", "1", "--rounds", "2", "--round-ms", "20",
                 "--json", "-")
    point, = json.loads(done.stdout)["points"]
    assert point["workers"] == 1 and point["mpps"] > 0 and point["efficiency"] == 1


def test_what_cannot_be_measured_is_refused(bench):
    assert "64 to 9014" in bench("forward", "--size", "40", fails=True).stderr
    assert "50 to 9000" in bench("ipsec", "--size", "40", fails=True).stderr
    assert "aes-129-gcm" in bench("ipsec", "--algorithm", "aes-129-gcm", fails=True).stderr
    cores = len(os.sched_getaffinity(0))
    assert f"use 1 to {cores}" in bench("scale", "--workers", str(cores + 1), fails=True).stderr
    if not os.path.exists("/sys/devices/system/node/node1"):
        assert "one NUMA node" in bench("scale", "--placement", "wrong", fails=True).stderr
    (bench.path / "broken.yaml").write_text("constants: {lookup_ipv4_cycles: -1}\n")
    refused = bench("compare-plan", "--calibration", "broken.yaml", fails=True).stderr
    assert "broken.yaml:1" in refused and "lookup_ipv4_cycles" in refused


def test_a_calibration_predicts_what_is_then_measured(bench):
    bench("calibrate", *bench.table, "--quick", "--only", "stages,clock")
    written = (bench.path / "calibration.yaml").read_text()
    for name in ("classify_ipv4_cycles", "lookup_ipv6_cycles", "copy_byte_cycles", "core_ghz"):
        assert f"  {name}: " in written
    done = bench("compare-plan", *bench.table, "--calibration", "calibration.yaml", "--quick",
                 "--sizes", "64,1518", "--json", "rows.json", fails=None)
    assert "error: median" in done.stdout
    rows = json.loads((bench.path / "rows.json").read_text())["rows"]
    # Constants of a file predict all; the error is what the machine makes of it.
    assert not any(row["calibrated"] for row in rows)
    outside = sum(abs(row["error"]) > 0.15 for row in rows)
    assert f"{outside} of 6 predictions over 15%" in done.stdout
    assert done.returncode == (1 if outside else 0)
    assert [(row["size"], row["series"]) for row in rows] == [
        (size, series) for size in ("64", "1518") for series in ("floor", "ipv4", "ipv6")]
    for row in rows:
        assert row["predicted_cycles"] == pytest.approx(sum(row["terms"].values()))
        assert row["measured_cycles"] > 0
    assert rows[3]["predicted_cycles"] > rows[0]["predicted_cycles"]


def test_a_gpu_is_measured_through_its_driver(bench):
    fake = {**os.environ, "LD_LIBRARY_PATH": str(labs.BUILD / "tests/unit")}
    said = bench("calibrate", "--quick", "--only", "gpu", env=fake).stdout
    assert "gpu: Scripted GPU at 0000:99:00.0" in said
    assert "gpu_launch_us: " in (bench.path / "calibration.yaml").read_text()
    # The link's own rate is nowhere to be read.
    assert "unknown link" in said and "gpu_link_efficiency" not in said

    fake["SCRIPTED_GPU_FAILS"] = "cuLaunchKernel"
    said = bench("calibrate", "--quick", "--only", "gpu", env=fake, fails=True).stdout
    assert "gpu: cuLaunchKernel: CUDA_ERROR_SCRIPTED (719)" in said and "(partial)" in said


def test_offload_measures_the_host_device_and_says_from_when_on_it_pays(bench):
    done = bench("offload", *bench.table, "--quick", "--device", "host", "--kinds",
                 "ipv4,ipv6,seal-gcm 64", "--json", "offload.json")
    assert "Cores saved at 148.8 Mpps" in done.stdout
    answer = json.loads((bench.path / "offload.json").read_text())
    assert answer["routes4"] == 200 and answer["device"] == "host" and answer["machine"]["name"]
    assert {(row["kind"], row["batch"]) for row in answer["rows"]} == {
        (kind, batch) for kind in ("ipv4", "ipv6", "seal-gcm 64") for batch in (1, 64, 256)}
    assert all(row["checked"] > 0 and row["items_per_s"] > 0 for row in answer["rows"])
    assert "no such device" in bench("offload", "--quick", "--device", "cuda", fails=True).stderr
