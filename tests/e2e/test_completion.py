"""`hecto completion SHELL`, in the shells themselves, and the manual pages."""

import shutil
import subprocess

import pytest

from lab import HECTO, sh

# What stands on the command line, what has to be among the answers, what must not.
CASES = [
    ("hecto ", {"show", "check", "load-routes"}, {"completion", "--limit"}),
    ("hecto re", {"reload"}, {"show"}),
    ("hecto show ", {"ports", "workers", "summary"}, {"reload"}),
    ("hecto --socket /x show po", {"ports", "pools"}, {"show"}),
    ("hecto show routes --or", {"--origin"}, {"--limit"}),
    ("hecto plan --traffic ", {"ipv4", "ipv6", "ipsec"}, {"ports"}),
    ("hecto route ", {"add", "delete"}, {"ports"}),
    ("hecto check --else", {"--elsewhere"}, {"--origin"}),
    ("hecto -H r1 show po", {"ports", "pools"}, {"show"}),
    ("hecto drain --", {"--timeout", "--below", "--frr"}, {"--origin"}),
]


def script(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    path = tmp_path / f"hecto.{shell}"
    path.write_text(sh([HECTO, "completion", shell]))
    return path


def ask(shell, tmp_path, program):
    """What the program prints, and not a word of complaint."""
    run = subprocess.run(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, timeout=30)
    assert run.stderr == "", f"{shell}: {run.stderr}"
    return set(run.stdout.split("\n"))


def bash(path, line):
    words = line.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    return ["bash", "--norc", "-c", f"source {path}; COMP_WORDS=({listed}); "
            f"COMP_CWORD={len(words) - 1}; _hecto; printf '%s\\n' \"${{COMPREPLY[@]}}\""]


# A terminal's completion, less the terminal: what would be offered is printed.
ZSH = """
autoload -Uz compinit; compinit -u -D
_describe() { local -a all=("${(@P)2}"); print -l -- "${(M@)${(@)all%%%%:*}:#${PREFIX}*}" }
compadd() { shift; print -l -- "${(M@)@:#${PREFIX}*}" }
_files() { }
source %s
words=(%s); CURRENT=%d; PREFIX=%s
_hecto
"""


def zsh(path, line):
    words = line.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    return ["zsh", "-f", "-c", ZSH % (path, listed, len(words), f"'{words[-1]}'")]


def fish(path, line):
    return ["fish", "--no-config", "-c",
            f"source {path}; complete -C '{line}' | string replace -r '\\t.*' ''"]


@pytest.mark.parametrize("shell, program", [("bash", bash), ("zsh", zsh), ("fish", fish)])
def test_completion(shell, program, tmp_path):
    path = script(shell, tmp_path)
    for line, wanted, unwanted in CASES:
        answers = ask(shell, tmp_path, program(path, line))
        assert wanted <= answers and not unwanted & answers, f"{shell}: {line!r}: {answers}"


def test_every_verb_is_completed(tmp_path):
    text = sh([HECTO, "--help"])
    verbs = {line.split()[0] for part in text.split("\nVerbs")[1:] for line in part.split("\n\n")[0]
             .splitlines()[1:]}
    assert {"show", "version", "plan"} <= verbs
    answers = ask("bash", tmp_path, bash(script("bash", tmp_path), "hecto "))
    assert verbs <= answers


def test_another_shell_is_refused():
    run = subprocess.run([HECTO, "completion", "tcsh"], stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2 and "use bash, zsh, fish" in run.stderr
