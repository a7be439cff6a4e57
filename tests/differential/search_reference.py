"""hecto-bench's search of the throughput, and MLRsearch's own (PyPI: MLRsearch), over the same simulated devices.

A device is a function of load and seconds that says how many packets come through; time is simulated.
"""

import json
import math
import random
import subprocess
import sys
from dataclasses import dataclass, field

VERSION = "1.2.1"  # `make test` puts it into BUILD/python

OPTIONS = {"goals": [0.0, 0.005], "width": 0.01, "exceed": 0.5, "initial_s": 0.1, "final_s": 1.0,
           "sum_s": 5.0, "min_pps": 1000.0, "max_pps": 40e6}


def load_reference(build):
    """The package, or why there is none."""
    sys.path.append(str(build / "python"))
    try:
        import MLRsearch
        return MLRsearch, None
    except ImportError as error:
        return None, f"{error}; make test installs MLRsearch {VERSION} from PyPI where that can be reached"
    finally:
        sys.path.pop()


@dataclass
class Device:
    """Knows how much it forwards, and from a seed how it is disturbed."""
    name: str
    loss: object  # (load, random) -> ratio
    seed: int = 1
    trials: int = 0
    seconds: float = 0.0
    dice: random.Random = field(default_factory=random.Random)

    def reset(self):
        self.dice.seed(self.seed)
        self.trials, self.seconds = 0, 0.0
        return self

    def trial(self, load, seconds):
        self.trials += 1
        self.seconds += seconds
        offered = round(load * seconds)
        return offered, offered - min(offered, math.ceil(offered * max(0.0, self.loss(load, self.dice))))


def sharp(capacity):
    """Forwards up to its capacity, loses the rest."""
    return lambda load, dice: 1 - capacity / load if load > capacity else 0.0


def gradual(first, all_of_it):
    """Loses nothing up to `first`, and from there on ever more: a tenth at `all_of_it`."""
    return lambda load, dice: 0.1 * (load - first) / (all_of_it - first) if load > first else 0.0


def stalls(device, part, ratio):
    """Loses `ratio` in that part of its trials whatever the load: somebody else has the CPU."""
    return lambda load, dice: max(device(load, dice), ratio if dice.random() < part else 0.0)


def unsteady(capacity, part):
    """Its capacity is another in each trial."""
    return lambda load, dice: sharp(capacity * (1 + part * (2 * dice.random() - 1)))(load, dice)


def ours(program, device, options=None):
    """[(lower, upper)] by goal; an upper bound of 0 is none."""
    asked = {**OPTIONS, **(options or {})}
    device.reset()
    with subprocess.Popen([program], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        def say(line):
            process.stdin.write(line + "\n")
            process.stdin.flush()
        say(json.dumps(asked))
        for line in process.stdout:
            if not line.startswith("trial "):
                result = json.loads(line)
                break
            load, seconds = map(float, line.split()[1:])
            say("{} {}".format(*device.trial(load, seconds)))
        process.stdin.close()
    assert process.returncode == 0
    assert all(goal["complete"] for goal in result["goals"]), result
    return [(goal["pps"], goal["upper"]) for goal in result["goals"]]


def reference(package, device, options=None):
    """The same of MLRsearch."""
    asked = {**OPTIONS, **(options or {})}
    device.reset()

    class Measurer(package.AbstractMeasurer):
        def measure(self, intended_duration, intended_load):
            offered, forwarded = device.trial(intended_load, intended_duration)
            return package.MeasurementResult(intended_duration=intended_duration, intended_load=intended_load,
                                             offered_count=offered, forwarding_count=forwarded)

    goals = [package.SearchGoal(loss_ratio=ratio, exceed_ratio=asked["exceed"], relative_width=asked["width"],
                                initial_trial_duration=asked["initial_s"], final_trial_duration=asked["final_s"],
                                duration_sum=asked["sum_s"], preceding_targets=3, fail_fast=False)
             for ratio in asked["goals"]]
    config = package.Config()
    config.goals, config.min_load, config.max_load = goals, asked["min_pps"], asked["max_pps"]
    config.warmup_duration = None
    found = package.MultipleLossRatioSearch(config).search(Measurer())
    bounds = [(found[goal].relevant_lower_bound, found[goal].relevant_upper_bound) for goal in goals]
    return [tuple(float(bound) if bound else 0.0 for bound in pair) for pair in bounds]
