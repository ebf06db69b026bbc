"""Whatever learner code tries in a graded run, it computes or it fails: nothing outside is read, changed or left.

What depends on it is done twice, as whoever runs the tests and as an unprivileged user.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from attacks import ATTACKS, PRELUDE, REPLIES, attack
from conftest import ROOT, SEED, TIME_LIMIT, codes, make_job, solution, with_policy
from corpus import RIGHT, SAMPLE, SUBMISSIONS, found_codes
from test_sandbox import LIMIT, X, alive, assert_still_honest, observed, outcome, run

from grader.batch.class_grading import grade_folder
from grader.course import Course, load_course
from grader.errors import InfrastructureError, ProtocolError
from grader.judging.grading import Grader
from grader.learner.render_text import exercise_report, printed_lines
from grader.results import ExerciseResult
from grader.sandbox import isolation
from grader.sandbox.isolation import Isolation, Machine, choose, machine, weakness
from grader.sandbox.worker import ForkingWorker, Reply, Worker, start_worker

STRICT: tuple[Isolation, ...] = ("box", "kernel")
LATE = 1.0
SECRET = "secret-" + "7f3a9"  # in this process's memory as a whole, in no source as a whole


@pytest.fixture(scope="module", params=STRICT)
def isolated(request: pytest.FixtureRequest) -> Iterator[ForkingWorker]:
    """A warm worker whose children are isolated."""
    with ForkingWorker(request.param) as worker:
        assert_still_honest(worker)
        yield worker


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file that everybody may read and write, as far as its permissions go."""
    tmp_path.chmod(0o777)
    path = tmp_path / "precious.txt"
    path.write_text(SECRET)
    path.chmod(0o666)
    return path


def shared_memory() -> list[str]:
    return Path("/proc/sysvipc/shm").read_text().splitlines()[1:]


def litter() -> list[Path]:
    """What the attacks would leave behind."""
    return [path for folder in ("/", "/tmp", "/dev/shm") for path in Path(folder).glob("handgrad-attack*")]


def ending(reply: Reply) -> str:
    """How a job ended; what cannot be read is a crash, as the grader has it."""
    try:
        if reply.end == "answered":
            assert len(observed(reply).facts.printed) < 20_000
        return outcome(reply)
    except ProtocolError:
        return "crash"


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_ends_as_stated_and_changes_nothing(name: str, isolated: ForkingWorker, precious: Path) -> None:
    source, expected = ATTACKS[name]
    before = (precious.read_text(), precious.stat(), shared_memory())
    started = time.monotonic()
    reply = run(isolated, source.replace("{path!r}", repr(str(precious))))
    assert time.monotonic() - started < LIMIT + LATE
    assert re.fullmatch(expected, ending(reply)), reply
    assert (precious.read_text(), shared_memory()) == (before[0], before[2])
    assert precious.stat()[:7] == before[1][:7]
    assert precious.stat().st_mtime_ns == before[1].st_mtime_ns
    assert [path.name for path in precious.parent.iterdir()] == ["precious.txt"]
    assert litter() == []
    assert_still_honest(isolated)


def test_every_system_call_that_is_not_listed_is_refused(isolated: ForkingWorker) -> None:
    """All numbers there are, and some there are not yet."""
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
    assert reply.facts.calls[0].error is None


if os.uname().machine == "x86_64":

    @pytest.mark.parametrize("number", [0x40000000 | 39, 0x40000000 | 520, 0xFFFFFFFF])
    def test_the_other_table_of_system_calls_is_death(number: int, isolated: ForkingWorker) -> None:
        """x32 numbers are those of x86-64 with a bit set; they would pass a filter that only compares numbers."""
        reply = run(isolated, attack(f"libc.syscall({number})"))
        assert (reply.end, reply.detail) == ("crash", "the process was ended by SIGSYS")
        assert_still_honest(isolated)

    @pytest.mark.parametrize("number", [335, 336])
    def test_the_calls_that_pass_every_filter_do_nothing(number: int, isolated: ForkingWorker) -> None:
        """Kernels since 6.11 let a probed function's trampoline past seccomp, and end everybody else."""
        source = attack(f"refused(libc.syscall({number}, 0, 0, 0, 0, 0, 0))")
        assert outcome(run(isolated, source)) in ("crash", "returned tensor", "AssertionError")
        assert_still_honest(isolated)


def test_a_limit_on_processor_time_holds(isolated: ForkingWorker) -> None:
    """Also where the wall clock would have allowed more."""
    job = make_job(attack("import signal; signal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass"), {"x": X},
                   time_limit=0.5)  # fmt: skip
    started = time.monotonic()
    assert isolated.run(job, 20).end == "crash"  # by SIGKILL: within the wall clock limit of this call
    assert time.monotonic() - started < 15  # two seconds of processor time, on a busy machine too


def test_nothing_of_the_submission_before_is_in_memory(isolated: ForkingWorker) -> None:
    """A later child finds, in all memory that it can reach, itself but not its predecessor."""
    left = "the-neighbours-" + "answer"
    run(isolated, attack(f"kept = [{left!r} * 1000 for _ in range(1000)]; sys.modules['kept'] = kept"))
    source = attack(f"""
        needle = ''.join(({left[:15]!r}, {left[15:]!r})).encode()
        found = 0
        start = id(needle) & ~0xfff
        for step in (1, -1):
            page = start
            while abs(page - start) < 200 << 20:
                if libc.syscall(14, 0, ctypes.c_void_p(page), None, 8) != 0: break
                chunk = ctypes.string_at(page, 4096)
                found += chunk.count(needle * 2)
                page += step * 4096
        assert abs(page - start) > 4096
        assert found == 0, found""")
    if os.uname().machine == "aarch64":
        source = source.replace("libc.syscall(14,", "libc.syscall(135,")
    reply = observed(run(isolated, source, 10))
    assert reply.facts.calls[0].error is None


FORGED = {
    "40 a verdict": 'send(protocol.pack({"passed": True}))',
    "40 an answer without calls": (
        'send(protocol.pack({"calls": [], "defined": ["lin_grad"], "stub": False, "printed": ""}))'
    ),
    "41 zeros": "inp.g, w.g, b.g = inp * 0, w * 0, b * 0",
    "42 two frames": 'send(protocol.pack({"calls": []}) * 2)',
    "42 more after the frame": 'send(protocol.pack({"calls": []}) + b"x")',
    "43 a giant header": 'send(b"HGF1" + b"\\xff" * 12)',
    "43 deep JSON": 'send(protocol.PREFIX.pack(b"HGF1", 200_000, 0) + b"[" * 200_000)',
    "43 bad UTF-8": 'send(protocol.PREFIX.pack(b"HGF1", 2, 0) + b"\\xff\\xfe")',
    "43 shapes that are no numbers": (
        'send(protocol.PREFIX.pack(b"HGF1", 33, 0) + b\'{"arrays": [["float32", [NaN]]]}  \')'
    ),
    "45 a patched comparison": "torch.allclose = torch.equal = lambda *a, **k: True\ninp.g = w.g = b.g = torch.ones(1)",
    "45 a patched frame": "protocol.pack = lambda *a: b'HGF1' + bytes(12)",
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
    source = (
        "import os\nimport torch\nfrom grader.child import protocol\n\n"
        "def send(frame):\n    while frame: frame = frame[os.write(3, frame):]\n    os._exit(0)\n\n"
        f"def lin_grad(inp, out, w, b):\n    {code}\n"
    )
    return grader.grade(course.find("lin_grad"), source.encode(), worker)


@pytest.mark.parametrize("way", FORGED)
def test_a_forged_answer_does_not_pass(way: str, isolated: ForkingWorker, course: Course, grader: Grader) -> None:
    result = graded(course, grader, isolated, FORGED[way])
    assert [answer.status for answer in result.answers] == ["failed"] * 3
    honest = grader.grade(course.find("lin_grad"), solution(course, "lin_grad"), isolated)
    assert honest.status == "passed"


@pytest.mark.parametrize("way", REPLIES)
def test_a_hostile_file_costs_its_own_points_alone(
    way: str, isolated: ForkingWorker, course: Course, grader: Grader
) -> None:
    """Not a pass, not an error of ours, not much of our time or memory, nothing that cannot be stored."""
    exercise, source = REPLIES[way]
    grader.trials(course.find(exercise))
    used, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = grader.grade(course.find(exercise), source if isinstance(source, bytes) else source.encode(), isolated)
    assert time.process_time() - used < 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 600 << 10
    assert {answer.status for answer in result.answers} == {"failed"}
    says = "".join(answer.message for answer in result.answers)
    assert len(says.encode()) < 3000
    assert says.isprintable()
    assert_still_honest(isolated)


def test_control_characters_do_not_reach_a_terminal(isolated: ForkingWorker, course: Course, grader: Grader) -> None:
    result = graded(course, grader, isolated, r"print('\x1b[2J\x07'); raise ValueError('\x1b[31m\x07\x08\x00\x9b')")
    exercise = course.find("lin_grad")
    shown = [*exercise_report(exercise, result, 80, {}), *printed_lines(result, 80)]
    text = " ".join(word for line in shown for word, _ in line)
    assert "ValueError" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


@pytest.mark.parametrize(("mode", "names"), [("box", sorted({*list(RIGHT)[::3], *SAMPLE})), ("kernel", SAMPLE)])
def test_every_submission_of_the_corpus_gets_its_verdict(
    mode: Isolation, names: list[str], course: Course, grader: Grader
) -> None:
    """Worked solutions, right and wrong submissions: the same codes as without isolation.

    What is right has the time that a course gives: loops over the entries of a large input need some of it.
    """
    patient = load_course(ROOT)
    with ForkingWorker(mode) as worker, ForkingWorker("none") as open_worker:
        for exercise in course.exercises:
            assert codes(grader.grade(exercise, exercise.solution.read_bytes(), worker)) == codes(
                grader.grade(exercise, exercise.solution.read_bytes(), open_worker)
            )
        chosen = [SUBMISSIONS[name] for name in names]
        found = {one.id: found_codes(one, patient if one.id in RIGHT else course, grader, worker) for one in chosen}
        wrong = [one for one in chosen if one.mismatches(found[one.id])]
        assert {one.id: found[one.id] for one in wrong} == {
            one.id: found_codes(one, course, grader, open_worker) for one in wrong
        }


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


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_code_does_not_notice(line: str, isolated: ForkingWorker) -> None:
    reply = run(isolated, f"import torch\ndef probe(x):\n    {line}\n    return x * 2\n", 5)
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
    import gc, traceback
    yield [frame.frame.f_locals for frame in inspect.getouterframes(sys._getframe())] if 'inspect' in globals() else ''
    for reach in (gc.get_objects, lambda: gc.get_referrers(sys), lambda: gc.get_referents(sys.modules)):
        yield look(reach)

buffer = ctypes.create_string_buffer(1 << 16)
libc.getenv.restype = ctypes.c_char_p
"""
)
CONFESS = """
    needle = ''.join(map(chr, {letters}))
    raise ValueError([repr(found) for found in everything({path!r}) if needle in repr(found)])
"""


@pytest.mark.parametrize("mode", STRICT)
def test_a_secret_cannot_be_returned(
    mode: Isolation, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from a file beside the submissions, an environment variable or the parent's memory."""
    school = tmp_path / "submissions"
    path = school / "spy" / "04_linear" / "lin_grad.py"
    path.parent.mkdir(parents=True)
    (school / "secret.txt").write_text(SECRET)
    monkeypatch.setenv("HANDGRAD_SECRET", SECRET)
    spied = CONFESS.format(path=str(school / "secret.txt"), letters=list(SECRET.encode()))
    path.write_text(f"{SPY}\ndef lin_grad(inp, out, w, b):{spied}")
    out = tmp_path / "out"
    grade_folder(with_policy(course, time_limit=20), school, out, workers=1, seed=SEED, isolation=mode)
    written = [file.read_text() for file in out.iterdir() if file.is_file()]
    assert "ValueError: []" in "".join(written)
    assert not any(SECRET in text for text in written)


@pytest.mark.parametrize("mode", STRICT)
def test_nothing_runs_on_after_a_worker_is_closed(mode: Isolation) -> None:
    with ForkingWorker(mode) as worker:
        assert_still_honest(worker)
        warm = worker.process.popen.pid
        started = {warm} | descendants(warm)
    assert [pid for pid in started if alive(pid)] == []


def descendants(pid: int) -> set[int]:
    """Every process below this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


KILLED = """
import os, sys
sys.path[:0] = [{root!r}, {tests!r}]
from conftest import make_job
from grader.sandbox.worker import ForkingWorker
worker = ForkingWorker({mode!r})
worker._await_ready()
print("ready", flush=True)
import numpy
worker.run(make_job("while True: pass", {{"x": numpy.ones(1)}}, time_limit=60), 60)
"""


@pytest.mark.parametrize("mode", STRICT)
def test_a_killed_grader_leaves_no_process(mode: Isolation) -> None:
    """The warm process and the submission that it was running die with it."""
    code = KILLED.format(root=str(ROOT), tests=str(ROOT / "tests"), mode=mode)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout is not None
        assert grader.stdout.readline() == "ready\n"
        time.sleep(0.5)
        below = descendants(grader.pid)
        assert len(below) >= 2
        grader.kill()
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in below) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in below if alive(pid)] == []


@pytest.mark.parametrize("mode", STRICT)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_warm_process_is_replaced(mode: Isolation, number: signal.Signals, course: Course) -> None:
    """Killed or frozen: an infrastructure error in finite time, and the next job is answered."""
    with ForkingWorker(mode) as worker:
        assert_still_honest(worker)
        warm = max({worker.process.popen.pid} | descendants(worker.process.popen.pid))
        os.kill(warm, number)
        started = time.monotonic()
        with pytest.raises(InfrastructureError, match="replaced"):
            worker.run(make_job("def probe(x):\n    return x", {"x": X}), LIMIT)
        assert time.monotonic() - started < 15
        assert_still_honest(worker)


WHOLE = Machine(landlock=7, no_seccomp="", no_box="", root=False)
BOXLESS = Machine(7, "", "bubblewrap is not installed (`apt-get install bubblewrap`)", root=False)
BARE = Machine(0, "", "bubblewrap is not installed", root=False)
UNFILTERED = Machine(7, "the kernel has no seccomp filters", "", root=False)


def test_the_strongest_isolation_is_chosen() -> None:
    assert (choose(WHOLE), choose(BOXLESS), WHOLE.strongest, BARE.strongest) == ("box", "kernel", "box", "none")
    assert (choose(WHOLE, "kernel"), choose(BARE, "none")) == ("kernel", "none")


@pytest.mark.parametrize(
    ("found", "wanted", "says"),
    [
        (BARE, None, r"no Landlock.*Nothing was graded.*--isolation none"),
        (BARE, "kernel", r"no Landlock"),
        (UNFILTERED, None, r"no seccomp filters"),
        (UNFILTERED, "box", r"no seccomp filters"),
        (BOXLESS, "box", r"apt-get install bubblewrap.*--isolation kernel"),
    ],
)
def test_what_cannot_be_had_is_refused(found: Machine, wanted: Isolation | None, says: str) -> None:
    with pytest.raises(InfrastructureError, match=says) as raised:
        choose(found, wanted)
    assert raised.value.exit_code == 3


def test_a_weaker_isolation_is_said_aloud() -> None:
    assert weakness("box", WHOLE) == ""
    assert "apt-get install bubblewrap" in weakness("kernel", BOXLESS)
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
    """The command, as an instructor runs it."""
    main = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}\nfrom grader.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", main, *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


NO_LANDLOCK = "import grader.child.landlock; grader.child.landlock.abi = lambda: 0"


def test_the_doctor_shows_what_would_be_used() -> None:
    done = handgrad("doctor")
    assert done.returncode == 0
    assert re.search(r"graded runs\s+isolated: box", done.stdout)
    bare = handgrad("doctor", code=NO_LANDLOCK)
    assert bare.returncode == 3
    assert re.search(r"missing\s+the kernel offers no Landlock", bare.stdout)


def test_the_doctor_imports_no_torch() -> None:
    done = handgrad("doctor", code="sys.modules['torch'] = None; sys.modules['numpy'] = None")
    assert done.stdout.startswith("bubblewrap")


def test_grade_refuses_says_or_isolates(tmp_path: Path) -> None:
    path = tmp_path / "submissions" / "ada" / "04_linear" / "lin_grad.py"
    path.parent.mkdir(parents=True)
    path.write_bytes((ROOT / "solutions/04_linear/lin_grad.py").read_bytes())
    words = ["grade", str(path.parents[2]), "--workers", "1", "--out"]
    refused = handgrad(*words, str(tmp_path / "a"), code=NO_LANDLOCK)
    assert (refused.returncode, (tmp_path / "a").exists()) == (3, False)
    assert "--isolation none" in refused.stderr
    for wanted, says in (("box", ""), ("kernel", "without a box of its own"), ("none", "NO ISOLATION")):
        out = tmp_path / wanted
        done = handgrad(*words, str(out), "--isolation", wanted)
        assert done.returncode == 0, done.stderr
        assert (says in done.stderr) if says else (done.stderr == "")
        result = json.loads((out / "ada.json").read_text())
        assert result["score"] == 3


def test_what_was_graded_without_isolation_is_graded_again(course: Course, tmp_path: Path) -> None:
    """Such a result may be forged; between the two kinds of isolation results are kept."""
    path = tmp_path / "submissions" / "ada" / "04_linear" / "lin_grad.py"
    path.parent.mkdir(parents=True)
    path.write_bytes(solution(course, "lin_grad"))

    def graded_anew(mode: Isolation) -> int:
        return grade_folder(course, tmp_path / "submissions", tmp_path / "out", workers=1, isolation=mode).graded

    assert [graded_anew(mode) for mode in ("none", "box", "kernel", "none")] == [1, 1, 0, 1]


def test_a_worker_that_cannot_be_isolated_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Landlock the warm process ends before it is ready."""
    package = tmp_path / "grader"
    shutil.copytree(isolation.bubblewrap.PACKAGE, package, ignore=shutil.ignore_patterns("landlock.py", "bundled"))
    tmp_path.chmod(0o755)
    monkeypatch.setattr(isolation.bubblewrap, "PACKAGE", package)
    with start_worker("box") as worker, pytest.raises(InfrastructureError, match="could not start"):
        worker.run(make_job("def probe(x): return x", {"x": np.ones(1)}), TIME_LIMIT)


def view_for_everybody() -> list[str]:
    """A root folder in which this Python and this checkout can be reached by an unprivileged user."""
    needed = {Path(sys.base_prefix), Path(sys.prefix), ROOT}
    closed = {
        next(folder for folder in [*reversed(path.parents), path] if not folder.stat().st_mode & 0o001)
        for path in needed
        if any(not folder.stat().st_mode & 0o001 for folder in [path, *path.parents])
    }
    covers = [word for folder in sorted(closed) for word in ("--tmpfs", str(folder))]
    inside = {parent for path in needed for parent in path.parents if set(parent.parents) & closed}
    covers += [word for folder in sorted(inside) for word in ("--perms", "0755", "--dir", str(folder))]
    binds = [word for path in sorted(needed) for word in ("--ro-bind", str(path), str(path))]
    return ["bwrap", "--dev-bind", "/", "/", *covers, *binds, "--cap-add", "ALL"]


# What learner code can reach depends on who runs the tests; what it may compute, and how it is judged, does not.
TWICE = "not corpus and not ordinary and not (kernel and (forged or hostile))"


def test_all_of_this_holds_for_an_unprivileged_user(tmp_path_factory: pytest.TempPathFactory) -> None:
    if os.geteuid() != 0:
        return  # it is being shown right now
    files = [f"tests/test_{name}.py" for name in ("isolation", "seccomp", "landlock")]
    drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
    test = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", TWICE, *files]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [*view_for_everybody(), "--", *drop, *test],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, textwrap.indent(done.stdout[-5000:] + done.stderr[-2000:], "  | ")
