"""Learner code in a graded run computes or fails: nothing outside is read or changed, and nothing stays behind.

Here in the strongest isolation of this machine; `thorough/test_every_isolation.py` has the others, the corpus, and
an unprivileged user.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.attacks import ATTACKS, BRIEF, PRELUDE, REPLIES, attack
from helpers.courses import ROOT, solution
from helpers.probes import (
    assert_still_honest,
    ending,
    limit_for,
    observed,
    outcome,
    run,
)
from helpers.processes import descendants

from grader.course.course import Course
from grader.errors import InfrastructureError
from grader.judging.grading import Grader
from grader.rendering.render_text import exercise_report, printed_lines
from grader.results.records import ExerciseResult
from grader.sandbox.isolation import Isolation, Machine, choose, machine, weakness
from grader.sandbox.worker import Worker

pytestmark = pytest.mark.slow

SECRET = "secret-" + "7f3a9"  # in this process's memory as a whole, in no source as a whole
OURS = 30.0  # seconds of processor time: more than anything that is not caught, on any machine


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """Return a file with a secret, which every user may read and write."""
    return make_precious(tmp_path)


def make_precious(folder: Path) -> Path:
    """Write a file with the secret in a folder, both of which every user may change, and return it."""
    folder.chmod(0o777)
    path = folder / "precious.txt"
    path.write_text(SECRET)
    path.chmod(0o666)
    return path


def shared_memory() -> list[str]:
    """Return the shared memory segments of this machine."""
    return Path("/proc/sysvipc/shm").read_text().splitlines()[1:]


def litter() -> list[Path]:
    """Return the files that the attacks would leave behind."""
    return [path for folder in ("/", "/tmp", "/dev/shm") for path in Path(folder).glob("handgrad-attack*")]


def assert_harmless(source: str, expected: str, worker: Worker, precious: Path) -> None:
    """Check that a hostile file ends as stated and changes nothing, and that the next honest job is answered."""
    before = (precious.read_text(), precious.stat(), shared_memory())
    reply = run(worker, source.replace("{path!r}", repr(str(precious))), limit_for(expected))
    assert re.fullmatch(expected, ending(reply)), reply
    assert (precious.read_text(), shared_memory()) == (before[0], before[2])
    assert precious.stat()[:7] == before[1][:7]
    assert precious.stat().st_mtime_ns == before[1].st_mtime_ns
    assert [path.name for path in precious.parent.iterdir()] == ["precious.txt"]
    assert litter() == []
    assert_still_honest(worker)


@pytest.mark.parametrize("name", BRIEF)
def test_an_attack_ends_as_stated_and_changes_nothing(name: str, isolated: Worker, precious: Path) -> None:
    assert_harmless(*ATTACKS[name], isolated, precious)


def test_every_system_call_that_is_not_listed_is_refused(isolated: Worker) -> None:
    """All system call numbers, and some that no kernel has yet."""
    from grader.child.seccomp import CALLS, FILTERED, MACHINES

    column = list(MACHINES).index(os.uname().machine)
    unfiltered = {335, 336} if column == 0 else set()  # uretprobe and uprobe: SIGILL, see below
    listed = {numbers[column] for numbers in CALLS.values()} | {rule.numbers[column] for rule in FILTERED.values()}
    source = attack(f"""
        listed = {sorted(listed | unfiltered)}
        open_to_all = []
        for number in range(0, 600):
            if number not in listed and (libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1):
                open_to_all.append(number)
        assert not open_to_all, open_to_all""")
    reply = observed(run(isolated, source))
    assert reply.calls[0].error is None


if os.uname().machine == "x86_64":

    @pytest.mark.parametrize("number", [0x40000000 | 39, 0x40000000 | 520, 0xFFFFFFFF])
    def test_the_other_table_of_system_calls_is_death(number: int, isolated: Worker) -> None:
        """x32 numbers are those of x86-64 with a bit set; they would pass a filter that only compares numbers."""
        reply = run(isolated, attack(f"libc.syscall({number})"))
        assert (reply.end, reply.detail) == ("crash", "the process was ended by the signal SIGSYS")
        assert_still_honest(isolated)

    @pytest.mark.parametrize("number", [335, 336])
    def test_the_calls_that_pass_every_filter_do_nothing(number: int, isolated: Worker) -> None:
        """Kernels since 6.11 let a probed function's trampoline past seccomp, and end everybody else."""
        source = attack(f"refused(libc.syscall({number}, 0, 0, 0, 0, 0, 0))")
        assert outcome(run(isolated, source)) in ("crash", "returned tensor", "AssertionError")
        assert_still_honest(isolated)


def test_nothing_of_the_submission_before_is_in_memory(isolated: Worker) -> None:
    """A later child searches all memory that it can reach: it finds its own text, and not that of the child before."""
    left = "the-neighbours-" + "answer"
    run(isolated, attack(f"kept = [{left!r} * 1000 for _ in range(1000)]; sys.modules['kept'] = kept"))
    source = attack(f"""
        needle = ''.join(({left[:15]!r}, {left[15:]!r})).encode()
        found = looked_at = 0
        start = id(needle) & ~0xfff
        for step in (1, -1):
            page = start
            while abs(page - start) < 200 << 20:
                if libc.syscall(14, 0, ctypes.c_void_p(page), None, 8) != 0: break
                chunk = ctypes.string_at(page, 4096)
                found += chunk.count(needle * 2)
                looked_at += 1
                page += step * 4096
        assert looked_at > 2
        assert found == 0, found""")
    if os.uname().machine == "aarch64":
        source = source.replace("libc.syscall(14,", "libc.syscall(135,")
    reply = observed(run(isolated, source))
    assert reply.calls[0].error is None


FORGED = {
    "40 a verdict": 'send(protocol.Frame({"passed": True}).pack())',
    "40 an answer without calls": (
        'send(protocol.Frame({"calls": [], "defined": ["lin_grad"], "stub": False, "printed": ""}).pack())'
    ),
    "41 zeros": "inp.g, w.g, b.g = inp * 0, w * 0, b * 0",
    "42 two frames": 'send(protocol.Frame({"calls": []}).pack() * 2)',
    "42 more after the frame": 'send(protocol.Frame({"calls": []}).pack() + b"x")',
    "43 a giant header": 'send(b"HGF1" + b"\\xff" * 12)',
    "43 deep JSON": 'send(protocol.PREFIX.pack(b"HGF1", 200_000, 0) + b"[" * 200_000)',
    "43 bad UTF-8": 'send(protocol.PREFIX.pack(b"HGF1", 2, 0) + b"\\xff\\xfe")',
    "43 shapes that are no numbers": (
        'send(protocol.PREFIX.pack(b"HGF1", 33, 0) + b\'{"arrays": [["float32", [NaN]]]}  \')'
    ),
    "45 a patched comparison": "torch.allclose = torch.equal = lambda *a, **k: True\ninp.g = w.g = b.g = torch.ones(1)",
    "45 a patched frame": "protocol.Frame.parts = lambda self: [b'HGF1' + bytes(12)]",
    "47 what is equal to everything": (
        "class Yes:\n        def __eq__(self, other): return True\n    inp.g = w.g = b.g = Yes()"
    ),
    "48 a lazy subclass": (
        "class Lazy(torch.Tensor):\n        def detach(self): return out.g\n"
        "    inp.g = w.g = b.g = torch.ones(1).as_subclass(Lazy)"
    ),
    "50 not a number": "inp.g, w.g, b.g = inp * float('nan'), w * float('inf'), b * float('nan')",
    "51 other kinds": "inp.g, w.g, b.g = inp.double(), w.to('meta'), b.to_sparse()",
    "52 spoiled inputs": "inp.zero_(); w.zero_(); b.zero_(); out.g.zero_(); inp.g, w.g, b.g = inp * 0, w * 0, b * 0",
    "59 memory not yet written": "inp.g, w.g, b.g = torch.empty_like(inp), torch.empty_like(w), torch.empty_like(b)",
}


def graded(course: Course, grader: Grader, worker: Worker, code: str) -> ExerciseResult:
    """Return the verdict on a `lin_grad` with this body."""
    source = (
        "import os\nimport torch\nfrom grader.child import protocol\n\n"
        "def send(frame):\n    while frame: frame = frame[os.write(3, frame):]\n    os._exit(0)\n\n"
        f"def lin_grad(inp, out, w, b):\n    {code}\n"
    )
    return grader.grade(course.find("lin_grad"), source.encode(), worker)


@pytest.mark.parametrize("way", FORGED)
def test_a_forged_answer_does_not_pass(way: str, isolated: Worker, course: Course, grader: Grader) -> None:
    result = graded(course, grader, isolated, FORGED[way])
    assert [answer.status for answer in result.answers] == ["failed"] * 3


def test_an_honest_answer_passes(isolated: Worker, course: Course, grader: Grader) -> None:
    assert grader.grade(course.find("lin_grad"), solution(course, "lin_grad"), isolated).status == "passed"


@pytest.mark.parametrize("way", REPLIES)
def test_a_hostile_file_costs_its_own_points_alone(way: str, isolated: Worker, course: Course, grader: Grader) -> None:
    """It does not pass, causes no error of the grader, costs little time and memory, and its result can be stored."""
    exercise, source = REPLIES[way]
    assert grader.trials(course.find(exercise)).judged_trials
    used, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = grader.grade(course.find(exercise), source if isinstance(source, bytes) else source.encode(), isolated)
    assert time.process_time() - used < OURS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 600 << 10
    assert {answer.status for answer in result.answers} == {"failed"}
    says = "".join(answer.message for answer in result.answers)
    assert len(says.encode()) < 3000
    assert says.isprintable()
    assert_still_honest(isolated)


def test_control_characters_do_not_reach_a_terminal(isolated: Worker, course: Course, grader: Grader) -> None:
    result = graded(course, grader, isolated, r"print('\x1b[2J\x07'); raise ValueError('\x1b[31m\x07\x08\x00\x9b')")
    exercise = course.find("lin_grad")
    shown = [*exercise_report(exercise, result, 80, {}), *printed_lines(result, 80)]
    text = " ".join(word for line in shown for word, _ in line)
    assert "ValueError" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


ORDINARY = """
torch.testing.assert_close(x, x)
torch.broadcast_shapes((2, 1), (1, 3))
torch.linalg.solve(torch.eye(2), torch.ones(2, 1)); torch.linalg.lstsq(x, x); torch.linalg.svd(x)
torch.einsum('bi,bj,bk->ijk', x, x, x)
torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2)); torch.nn.functional.gelu(x)
torch.nn.LSTM(3, 3)(x); torch.nn.Linear(3, 2)(x); torch.matmul(torch.ones(400, 400), torch.ones(400, 400))
torch.optim.SGD([torch.nn.Parameter(x)], lr=0.1)
torch.vmap(lambda row: row.sum())(x); torch.randn(3); torch.manual_seed(1); torch.Generator().manual_seed(1)
repr(x); x.tolist(); torch.unique(x); torch.quantile(x, 0.5); torch.cov(x); torch.fft.fft(x); x.svd(); x.norm()
torch.distributions.Normal(0.0, 1.0).log_prob(x); torch.special.erf(x); torch.logsumexp(x, 1)
import numpy as np; np.linalg.eig(np.eye(3)); np.random.default_rng().normal(); np.einsum('ii', np.eye(2))
import numpy as np; np.testing.assert_allclose(x.numpy(), x.numpy()); np.fft.fft(x.numpy()); np.random.shuffle([1, 2])
from dataclasses import dataclass; from typing import Dict; from functools import lru_cache, partial, reduce
import collections, itertools, random, statistics, fractions, decimal, json, re, inspect; random.random()
import math, cmath, operator, string, textwrap, copy, enum, abc, contextlib, types, bisect, heapq, time, timeit
import logging; logging.basicConfig(); logging.warning('careful')
import warnings; warnings.warn('careful')
import unittest, doctest, pprint, pathlib, tempfile, io, os, sys, glob, hashlib; hashlib.sha256(b'x').hexdigest()
from collections import namedtuple; namedtuple('P', 'a b')(1, 2)
'é'.encode('latin-1'); 'x'.encode('ascii', 'ignore'); b'x'.decode('utf-16', 'ignore'); 'ß'.casefold()
f'{datetime.datetime.now():%Y}' if (datetime := __import__('datetime')) else ''
inspect.signature(probe) if (inspect := __import__('inspect')) else ''
decimal.Decimal('1.1').sqrt() if (decimal := __import__('decimal')) else ''
gc.collect() if (gc := __import__('gc')) else ''
""".strip().splitlines()


def test_ordinary_code_does_not_notice(isolated: Worker) -> None:
    """All lines run in one job, each in its own function."""
    functions = "".join(f"def line{number}(x):\n    {line}\n" for number, line in enumerate(ORDINARY))
    called = "".join(f"    line{number}(x)\n" for number in range(len(ORDINARY)))
    source = f"import torch\n{functions}def probe(x):\n{called}    return x * 2\n"
    reply = run(isolated, source.replace("inspect.signature(probe)", "inspect.signature(line0)"))
    assert outcome(reply) == "returned tensor", reply


SPY = (
    PRELUDE
    + """
def look(what):
    try: return what()
    except BaseException as error: return repr(error)

def everything(path):
    yield os.environ
    yield look(lambda: open(path).read())
    yield look(lambda: os.listdir(os.path.dirname(path)))
    for name in ('/proc/self/environ', '/proc/1/environ', '/proc/2/environ', '/proc/self/cmdline', '/proc/self/maps'):
        yield look(lambda: open(name, 'rb').read())
    for fd in range(64):
        yield look(lambda: os.read(fd, 1 << 16)) if fd != 3 else ''
    for pid in range(-1, 4000):
        yield look(lambda: libc.process_vm_readv(pid, buffer, 1, buffer, 1, 0))
    yield [libc.getenv(name) for name in (b'HANDGRAD_SECRET', b'PATH', b'HOME')]
    import gc
    yield [frame.frame.f_locals for frame in inspect.getouterframes(sys._getframe())] if 'inspect' in globals() else ''
    for namespace in gc.get_objects():
        yield [value for value in namespace.values() if type(value) is str] if type(namespace) is dict else ''

buffer = ctypes.create_string_buffer(1 << 16)
libc.getenv.restype = ctypes.c_char_p
"""
)
CONFESS = """
    needle = ''.join(map(chr, {letters}))
    raise ValueError([repr(found) for found in everything({path!r}) if needle in repr(found)])
"""


KNOWN = """
    open_to_all = {'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'CUDA_VISIBLE_DEVICES',
                   'GLIBC_TUNABLES', 'PYTHONHASHSEED', 'LD_LIBRARY_PATH', 'PWD', 'LC_CTYPE', 'LOGNAME'}
    assert set(os.environ) <= open_to_all, set(os.environ) - open_to_all
    return x * 2
"""


def test_a_secret_cannot_be_found(isolated: Worker, precious: Path) -> None:
    """It is in no file that can be read, not in the parent's memory, and not in the environment."""
    spied = CONFESS.format(path=str(precious), letters=list(SECRET.encode()))
    error = observed(run(isolated, f"{SPY}\ndef probe(x):{spied}")).calls[0].error
    assert error is not None
    assert (error.type, error.message) == ("ValueError", "[]")
    assert outcome(run(isolated, f"{SPY}\ndef probe(x):{KNOWN}")) == "returned tensor"


KILLED = """
import sys
sys.path[:0] = [{root!r}]
from grader.child.protocol import unpack
from grader.sandbox.worker import start_worker
job = unpack(sys.stdin.buffer.read())
start_worker({isolation!r}).run(job, 600)
"""


DEPTH = {"box": 4, "kernel": 2, "seccomp": 2}  # bubblewrap twice, the warm process, its child


def warm_family(worker: Worker) -> set[int]:
    """Return the process ids of the warm process and of those between it and the grader."""
    return {worker.process.popen.pid} | descendants(worker.process.popen.pid)


WHOLE = Machine(landlock=7, no_seccomp="", no_box="", root=False)
BOXLESS = Machine(7, "", "bubblewrap is not installed (`apt-get install bubblewrap`)", root=False)
CONTAINER = Machine(0, "", "bubblewrap was refused (Operation not permitted)", root=True)
BARE = Machine(0, "the kernel has no seccomp filters", "bubblewrap is not installed", root=False)
UNFILTERED = Machine(7, "the kernel has no seccomp filters", "", root=False)


def test_the_strongest_isolation_is_chosen() -> None:
    machines = (WHOLE, BOXLESS, CONTAINER, BARE, UNFILTERED)
    assert [found.strongest for found in machines] == ["box", "kernel", "seccomp", "none", "none"]
    assert [choose(found) for found in machines[:3]] == ["box", "kernel", "seccomp"]
    assert [choose(WHOLE, wanted) for wanted in ("box", "kernel", "seccomp", "none")] == [
        "box",
        "kernel",
        "seccomp",
        "none",
    ]
    assert choose(BARE, "none") == "none"


@pytest.mark.parametrize(
    ("found", "wanted", "says"),
    [
        (BARE, None, r"no seccomp filters.*Nothing was graded.*--isolation none"),
        (BARE, "kernel", r"no seccomp filters"),
        (UNFILTERED, None, r"no seccomp filters"),
        (UNFILTERED, "box", r"no seccomp filters"),
        (BOXLESS, "box", r"apt-get install bubblewrap.*--isolation kernel"),
        (CONTAINER, "box", r"no Landlock.*--isolation seccomp"),
        (CONTAINER, "kernel", r"no Landlock.*--isolation seccomp"),
    ],
)
def test_an_isolation_that_is_not_available_is_refused(found: Machine, wanted: Isolation | None, says: str) -> None:
    with pytest.raises(InfrastructureError, match=says) as raised:
        choose(found, wanted)
    assert raised.value.exit_code == 3


def test_the_weaker_isolations_are_those_that_the_machine_offers() -> None:
    assert WHOLE.weaker("box") == ["kernel", "seccomp"]
    assert CONTAINER.weaker("box") == ["seccomp"]
    assert WHOLE.weaker("seccomp") == WHOLE.weaker("none") == []


def test_a_weaker_isolation_is_said_aloud() -> None:
    assert weakness("box", WHOLE) == ""
    assert "apt-get install bubblewrap" in weakness("kernel", BOXLESS)
    assert re.search("seccomp alone.*no Landlock", weakness("seccomp", CONTAINER))
    assert "asked for" in weakness("seccomp", WHOLE)
    assert "NO ISOLATION" in weakness("none", WHOLE)


def test_a_box_that_is_refused_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "No permissions to create new namespace" in machine().no_box
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert "bubblewrap is not installed" in machine().no_box


def handgrad(*words: str, cwd: Path = ROOT, code: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command as an instructor does."""
    main = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}\nfrom grader.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", main, *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


NO_SECCOMP = (
    "import grader.child.seccomp; grader.child.seccomp.unavailable_reason = lambda: 'the kernel has no seccomp filters'"
)


def handed_in(folder: Path) -> Path:
    """Return the folder of a class of one student, whose only file is right."""
    path = folder / "submissions" / "ada" / "04_linear" / "lin_grad.py"
    path.parent.mkdir(parents=True)
    path.write_bytes((ROOT / "solutions/04_linear/lin_grad.py").read_bytes())
    return folder / "submissions"


def assert_graded(school: Path, wanted: Isolation, says: str) -> None:
    """Check that `handgrad grade` under this isolation gives all points, and names the protection that is missing."""
    out = school.parent / wanted
    done = handgrad("grade", str(school), "--workers", "1", "--out", str(out), "--isolation", wanted)
    assert done.returncode == 0, done.stderr
    assert (says in done.stderr) if says else (done.stderr == "")
    assert json.loads((out / "ada.json").read_text())["score"] == 3


def test_grade_refuses(tmp_path: Path) -> None:
    school, out = handed_in(tmp_path), tmp_path / "out"
    refused = handgrad("grade", str(school), "--workers", "1", "--out", str(out), code=NO_SECCOMP)
    assert (refused.returncode, out.exists()) == (3, False)
    assert "--isolation none" in refused.stderr
