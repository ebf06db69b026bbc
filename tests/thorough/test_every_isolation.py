"""Every isolation, every attack, every user: what `test_isolation.py` shows of the strongest isolation alone.

What depends on who grades is done again as an unprivileged user.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_isolation as short
from helpers.attacks import ATTACKS, LONG, OF_THE_USER, REPLIES, attack
from helpers.corpus import RIGHT, SAMPLE, SUBMISSIONS, graded_codes
from helpers.courses import ROOT, SEED, with_policy
from helpers.grading import codes
from helpers.probes import HANG, HONEST, PATIENT, SHORT, X, assert_still_honest, outcome, run
from helpers.processes import PATIENCE, alive, descendants, wait_until
from helpers.workers import make_job, strongest, worker_of
from test_isolation import DEPTH, FORGED, KILLED, ORDINARY, SECRET, assert_graded, assert_harmless, handed_in

from grader.classroom.class_grading import grade_folder
from grader.course.course import Course
from grader.errors import InfrastructureError
from grader.judging.grading import Grader
from grader.sandbox import isolation as isolations
from grader.sandbox.isolation import Isolation
from grader.sandbox.worker import Unanswered, Worker

STRICT: tuple[Isolation, ...] = ("box", "kernel", "seccomp")
WEAKER = tuple(mode for mode in STRICT if mode != strongest())
REST = [(mode, name) for mode in STRICT for name in ATTACKS if mode in WEAKER or name in LONG]


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file that everybody may read and write, as far as its permissions go."""
    return short.make_precious(tmp_path)


@pytest.fixture(params=STRICT)
def isolation(request: pytest.FixtureRequest) -> Isolation:
    """Each isolation that keeps learner code in."""
    return request.param


weaker = pytest.mark.parametrize("isolation", WEAKER)


@pytest.mark.parametrize(("isolation", "name"), REST)
def test_an_attack_ends_as_stated_and_changes_nothing(name: str, isolated: Worker, precious: Path) -> None:
    assert_harmless(*ATTACKS[name], isolated, precious)


@weaker
def test_every_system_call_that_is_not_listed_is_refused(isolated: Worker) -> None:
    short.test_every_system_call_that_is_not_listed_is_refused(isolated)


if os.uname().machine == "x86_64":

    @weaker
    @pytest.mark.parametrize("number", [0x40000000 | 39, 0x40000000 | 520, 0xFFFFFFFF])
    def test_the_other_table_of_system_calls_is_death(number: int, isolated: Worker) -> None:
        short.test_the_other_table_of_system_calls_is_death(number, isolated)

    @weaker
    @pytest.mark.parametrize("number", [335, 336])
    def test_the_calls_that_pass_every_filter_do_nothing(number: int, isolated: Worker) -> None:
        short.test_the_calls_that_pass_every_filter_do_nothing(number, isolated)


def test_a_limit_on_processor_time_holds(isolated: Any) -> None:
    """Also where the wall clock would have allowed more."""
    unwatched = "import signal\nfor clock in (signal.ITIMER_REAL, signal.ITIMER_PROF): signal.setitimer(clock, 0)\n"
    job = make_job(attack(f"{unwatched}while True: pass"), {"x": X}, time_limit=0.5)
    reply = isolated._attempt(job, PATIENCE)  # by SIGKILL, after two seconds of processor time; once is enough
    assert isinstance(reply, Unanswered)
    assert reply.end == "crash"
    assert reply.cpu < 4


@weaker
def test_nothing_of_the_submission_before_is_in_memory(isolated: Worker) -> None:
    short.test_nothing_of_the_submission_before_is_in_memory(isolated)


@weaker
@pytest.mark.parametrize("way", FORGED)
def test_a_forged_answer_does_not_pass(way: str, isolated: Worker, course: Course, grader: Grader) -> None:
    short.test_a_forged_answer_does_not_pass(way, isolated, course, grader)


@weaker
@pytest.mark.parametrize("way", REPLIES)
def test_a_hostile_file_costs_its_own_points_alone(way: str, isolated: Worker, course: Course, grader: Grader) -> None:
    short.test_a_hostile_file_costs_its_own_points_alone(way, isolated, course, grader)


@weaker
def test_control_characters_do_not_reach_a_terminal(isolated: Worker, course: Course, grader: Grader) -> None:
    short.test_control_characters_do_not_reach_a_terminal(isolated, course, grader)


@weaker
def test_a_secret_cannot_be_found(isolated: Worker, precious: Path) -> None:
    short.test_a_secret_cannot_be_found(isolated, precious)


def test_a_killed_warm_process_is_replaced_and_a_closed_one_leaves_nothing(isolation: Isolation) -> None:
    """Killed between two jobs it is replaced without a word."""
    with worker_of(isolation) as worker:
        assert_still_honest(worker)
        first = short.warm_family(worker)
        os.kill(max(first), 9)
        wait_until(lambda: worker.process.popen.poll() is not None, "it outlives its warm process")
        assert_still_honest(worker)
        second = short.warm_family(worker)
    assert first.isdisjoint(second)
    wait_until(lambda: not any(map(alive, first | second)), "a process outlives its worker")


@pytest.mark.parametrize("isolation", STRICT)
@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_code_does_not_notice(line: str, isolated: Worker) -> None:
    """Each line in a job of its own: what the one before imported or left is not there."""
    reply = run(isolated, f"import torch\ndef probe(x):\n    {line}\n    return x * 2\n")
    assert outcome(reply) == "returned tensor", reply


def test_worked_solutions_and_a_sample_of_the_corpus_get_their_verdicts(
    isolated: Worker, course: Course, grader: Grader, worker: Worker
) -> None:
    """The same codes as without isolation; all of the corpus is in `test_every_check_and_grade.py`.

    What is right has the usual time for its loops over the entries of a large input, which is the smaller for it. Where
    that is not enough, on a busy machine, there is a second look with patience.
    """
    usual, patient = (with_policy(course, time_limit=limit) for limit in (10, PATIENT))
    for exercise in course.exercises:
        if not exercise.is_quiz:
            result = grader.grade(exercise, exercise.solution.read_bytes(), isolated)
            assert set(codes(result).values()) == {None}, exercise.id
    for one in (SUBMISSIONS[name] for name in SAMPLE):
        if one.mismatches(graded_codes(one, usual if one.id in RIGHT else course, grader, isolated)):
            alone, apart = (graded_codes(one, patient, grader, each) for each in (worker, isolated))
            assert apart == alone, one.id


def test_a_secret_is_in_no_result(
    isolation: Isolation, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from a file beside the submissions, an environment variable or the parent's memory."""
    school = tmp_path / "submissions"
    path = school / "spy" / "04_linear" / "lin_grad.py"
    path.parent.mkdir(parents=True)
    (school / "secret.txt").write_text(SECRET)
    monkeypatch.setenv("HANDGRAD_SECRET", SECRET)
    spied = short.CONFESS.format(path=str(school / "secret.txt"), letters=list(SECRET.encode()))
    path.write_text(f"{short.SPY}\ndef lin_grad(inp, out, w, b):{spied}")
    out = tmp_path / "out"
    grade_folder(with_policy(course, time_limit=300), school, out, workers=1, seed=SEED, isolation=isolation)
    written = [file.read_text() for file in out.iterdir() if file.is_file()]
    assert "ValueError: []" in "".join(written)
    assert not any(SECRET in text for text in written)


def test_a_frozen_warm_process_is_replaced(isolation: Isolation) -> None:
    """An infrastructure error in finite time, and the next job is answered."""
    with worker_of(isolation) as worker:
        assert_still_honest(worker)
        worker.process.control.settimeout(SHORT)  # that of this process alone: the next one has its own
        os.kill(max(short.warm_family(worker)), signal.SIGSTOP)
        with pytest.raises(InfrastructureError, match="replaced"):
            run(worker, HONEST)
        assert_still_honest(worker)


def test_a_warm_process_killed_during_a_job_is_the_graders_error(isolation: Isolation) -> None:
    """No verdict is guessed: the job ends in an infrastructure error, and the next one is answered."""
    with worker_of(isolation) as worker:
        assert_still_honest(worker)
        warm = max(short.warm_family(worker))

        def kill_once_at_work() -> None:
            wait_until(lambda: bool(descendants(warm)), "no child answers the job")
            os.kill(warm, signal.SIGKILL)

        killer = threading.Thread(target=kill_once_at_work)
        killer.start()
        with pytest.raises(InfrastructureError, match="replaced"):
            run(worker, "import time\ndef probe(x): time.sleep(600)\n", 600)
        killer.join()
        assert_still_honest(worker)


@pytest.mark.parametrize(("wanted", "says"), [("box", ""), ("seccomp", "seccomp alone"), ("none", "NO ISOLATION")])
def test_grade_isolates_and_says_what_it_does_without(wanted: Isolation, says: str, tmp_path: Path) -> None:
    assert_graded(handed_in(tmp_path), wanted, says)


def test_what_was_graded_without_isolation_is_graded_again(course: Course, tmp_path: Path) -> None:
    """Such a result may be forged; between the two kinds of isolation results are kept."""
    school = handed_in(tmp_path)

    def graded_anew(mode: Isolation) -> int:
        return grade_folder(course, school, tmp_path / "out", workers=1, isolation=mode).graded

    assert [graded_anew(mode) for mode in ("none", "box", "kernel", "seccomp", "none")] == [1, 1, 0, 0, 1]


@pytest.mark.parametrize(("isolation", "name"), [(mode, name) for mode in STRICT for name in OF_THE_USER])
def test_of_the_user(name: str, isolated: Worker, precious: Path) -> None:
    """Run by an unprivileged user, below: what an attack comes to may depend on who grades."""
    if os.geteuid() != 0:
        assert_harmless(*ATTACKS[name], isolated, precious)


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
OF_ANY_USER = (
    "not ordinary and not forged and not hostile and not control_characters and not honest_answer and not attack"
)
FROM_HERE = "of_the_user or frozen and not box or killed and not box or secret and found"


def test_all_of_this_holds_for_an_unprivileged_user() -> None:
    if os.geteuid() != 0:
        return  # it is being shown right now
    tests = ("sandbox/test_isolation", "child/test_confinement", "child/test_seccomp", "child/test_landlock")
    files = [f"tests/{name}.py" for name in tests]
    here = Path(__file__)
    chosen = f"{here.stem} and ({FROM_HERE}) or not {here.stem} and ({OF_ANY_USER})"
    as_nobody(*files, f"tests/thorough/{here.name}", "-k", chosen)


def as_nobody(*words: str) -> None:
    """These tests pass for an unprivileged user."""
    drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
    test = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *words]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [*view_for_everybody(), "--", *drop, *test],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, textwrap.indent(done.stdout[-5000:] + done.stderr[-2000:], "  | ")


def test_grade_isolates_and_says_what_it_does_without(tmp_path: Path) -> None:
    assert_graded(handed_in(tmp_path), "kernel", "without a box of its own")


def test_a_killed_grader_leaves_no_process(isolation: Isolation) -> None:
    """The warm process and the submission that it was running die with it."""
    code = KILLED.format(root=str(ROOT), isolation=isolation)
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as grader:
        assert grader.stdin is not None
        grader.stdin.write(make_job(HANG, {"x": X}, time_limit=600).pack())
        grader.stdin.close()
        wait_until(lambda: len(descendants(grader.pid)) >= DEPTH[isolation], "no submission is run")
        below = descendants(grader.pid)
        grader.kill()
    wait_until(lambda: not any(map(alive, below)), "a process outlives the grader")


def test_a_worker_that_cannot_be_isolated_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the module that confines it, the warm process ends before it is ready."""
    package = tmp_path / "grader"
    shutil.copytree(isolations.bubblewrap.PACKAGE, package, ignore=shutil.ignore_patterns("confinement.py", "bundled"))
    tmp_path.chmod(0o755)
    monkeypatch.setattr(isolations.bubblewrap, "PACKAGE", package)
    with worker_of("box") as worker, pytest.raises(InfrastructureError, match="could not start"):
        worker.run(make_job("def probe(x): return x", {"x": np.ones(1)}), PATIENT)
