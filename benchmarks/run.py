"""Measure what a learner and an instructor wait for, as ratios within one run: `python benchmarks/run.py [--write]`."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import dev_environment  # noqa: F401
from memory import peaks
from nbgrading import pace
from watching import waits

if TYPE_CHECKING:
    from grader.classroom.class_grading import GradingProgress

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "benchmarks" / "README.md"
LIN_GRAD = "04_linear/lin_grad.py"
ONE_EXERCISE = """
course: one
title: One exercise
units: [{id: 04_linear, title: A linear layer, exercises: [{id: lin_grad, points: 3}]}]
"""
REPEATS = 5
CHECKS = 50
ENDLESS = ("while True: pass", "time.sleep(600)", "while True: inp = inp.repeat(2)")
SAVES = 10
UNITS_OF_OTHERS, TURNS = 10, 15
STUDENTS = 600
UNIT_STUDENTS = 120
FEW, CROWD = 200, 10_000
EXPORTED = 400
SHARED = 2400
REPORTED, LARGEST_REPORT = 3000, 100_000
WORKERS = 2
NOTEBOOKS, STOCK = 30, 4
ROUNDS = 3
TORCH = [sys.executable, "-c", "import torch"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
HANDGRAD = [str(Path(sys.executable).with_name("handgrad"))]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    measured: str
    target: str
    met: bool


def at_most(what: str, value: float, limit: float, unit: str) -> Row:
    """Return a row whose value must not be above `limit`."""
    return Row(what, f"{value:.3g} {unit}", f"at most {limit:g} {unit}", value <= limit)


def at_least(what: str, value: float, limit: float, unit: str) -> Row:
    """Return a row whose value must not be below `limit`."""
    return Row(what, f"{value:.3g} {unit}", f"at least {limit:g} {unit}", value >= limit)


def solved_course(folder: Path, config: str = "") -> Path:
    """Make a course in which every exercise is solved.

    Args:
        folder: where it is made.
        config: another `course.yaml`.
    """
    from grader.authoring.build import worked_text
    from grader.course.course import load_course
    from grader.learner.workspace import FILES

    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(FILES["pyproject.toml"])
    (folder / "course.yaml").write_text(config or (ROOT / "course.yaml").read_text())
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "solutions", folder / "solutions", ignore=ignored)
    shutil.copytree(ROOT / "exercises", folder / "exercises", ignore=ignored)
    for exercise in load_course(folder).exercises:
        exercise.path.write_text(worked_text(exercise))
    return folder


def seconds(command: Sequence[str], folder: Path) -> float:
    """Wall time of a command that succeeds."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=_environment())
    elapsed = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return elapsed


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "HANDGRAD_"))}


def interleaved(commands: Sequence[Sequence[str]], folder: Path) -> list[float]:
    """Return the median wall time of each command; they take turns, so that a slow minute slows all of them."""
    for command in commands:
        seconds(command, folder)
    rounds = [[seconds(command, folder) for command in commands] for _ in range(REPEATS)]
    return [median(times) for times in zip(*rounds, strict=True)]


def learner(course: Path) -> list[Row]:
    """Measure a learner's commands, in multiples of importing torch."""
    units = sorted(str(unit.relative_to(course)) for unit in (course / "exercises").iterdir())
    chosen = [f"exercises/{LIN_GRAD}"], units[:8], units[:12], units
    torch, lin_grad, eight, twelve, whole = interleaved([TORCH, *([*PYTEST, *paths] for paths in chosen)], course)
    return [
        Row('`python -c "import torch"`', f"{torch:.3g} s", "the unit", True),
        at_most(f"`pytest exercises/{LIN_GRAD}`, solved", lin_grad / torch, 1.6, "x"),
        at_most("`pytest`, units 01 to 08 solved", eight / torch, 1.7, "x"),
        at_most("`pytest`, units 01 to 12 solved", twelve / torch, 2.2, "x"),
        Row("`pytest exercises/`, all 15 units solved", f"{whole / torch:.3g} x", "none set", True),
    ]


def author(course: Path) -> list[Row]:
    """Measure an author's commands, in multiples of importing torch."""
    del course  # handgrad's own, whose references are checked
    torch, audit = seconds(TORCH, ROOT), seconds([*HANDGRAD, "audit"], ROOT)
    return [at_most("`handgrad audit`, the whole course", audit / torch, 20, "x")]


def without_torch(course: Path) -> list[Row]:
    """Measure the commands that must not import torch."""
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "exercises"]
    shown, collected = interleaved([[*HANDGRAD, "--help"], collect], course)
    return [
        at_most("`handgrad --help`", shown, 0.5, "s"),
        at_most("`pytest --collect-only exercises/`", collected, 0.5, "s"),
    ]


def beside_others(course: Path) -> list[Row]:
    """Measure what handgrad costs pytest in a stranger's project that is laid out as a course is."""
    del course
    with tempfile.TemporaryDirectory() as folder:
        for unit in range(1, UNITS_OF_OTHERS + 1):
            path = Path(folder, "exercises", f"{unit:02}_unit", f"test_{unit}.py")
            path.parent.mkdir(parents=True)
            path.write_text("import pytest\n@pytest.mark.parametrize('i', range(100))\ndef test_ok(i): pass\n")
        Path(folder, "course.yaml").write_text("course: Biology\nunits: 12\n")
        here, without = ([*PYTEST, *options, "exercises"] for options in ((), ("-p", "no:handgrad")))
        pairs = [(seconds(here, Path(folder)), seconds(without, Path(folder))) for _ in range(TURNS)]
    fastest = [min(times) for times in zip(*pairs, strict=True)]
    what = f"what handgrad's plugin adds to {100 * UNITS_OF_OTHERS} tests of another project"
    return [at_most(what, 1000 * (fastest[0] - fastest[1]), 20, "ms")]


def warm_check(course: Path) -> list[Row]:
    """One exercise, every answer and trial, where everything is loaded already."""
    from grader.course.course import load_course
    from grader.judging.grading import Grader
    from grader.sandbox.worker import start_worker

    loaded, grader, rows = load_course(course), Grader(), []
    with start_worker("none") as worker:
        for name, limit in (("lin_grad", 40), ("attention_grad", 60)):
            exercise, times = loaded.find(name), list[float]()
            for _ in range(CHECKS):
                started = time.perf_counter()
                result = grader.grade(exercise, exercise.path.read_bytes(), worker)
                times.append(time.perf_counter() - started)
                assert result.status == "passed"
            rows.append(at_most(f"checking `{name}` in a warm process", 1000 * median(times[1:]), limit, "ms"))
    return rows


def watched(course: Path) -> list[Row]:
    """From a save to the verdict, in a terminal."""
    file = course / "exercises" / LIN_GRAD
    right = file.read_text()
    wrong = right.replace("out.g.sum(0)", "out.g.mean(0)")
    versions = [
        (f"{text}# {i}\n", shows) for i in range(SAVES) for text, shows in ((wrong, "hint 1/3"), (right, "Solved."))
    ]
    times = waits(HANDGRAD, course, file, versions)
    return [at_most("`handgrad` alone: from a save of `lin_grad.py` to the verdict", 1000 * median(times), 250, "ms")]


def whole_class(course: Path) -> list[Row]:
    """Submissions per second once the first has landed; every second one has a mistake to be named.

    Without isolation and in the strongest that this machine has, in turn; and whole units in that.
    """
    from grader.sandbox.isolation import choose, machine

    units = solved_course(course.parent / "units" / "course")
    hand_in(course, STUDENTS)
    hand_in(units, UNIT_STUDENTS, whole_unit=True)
    chosen = choose(machine())
    loose, strict, whole, imports = list[float](), list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        imports.append(seconds(TORCH, course))
        loose.append(grading_rate(course, "none"))
        strict.append(grading_rate(course, chosen))
        whole.append(grading_rate(units, chosen))
    meanwhile, what = median(imports), f"`handgrad grade`, {WORKERS} workers, after start-up"
    exercises = len(list((course / "exercises" / LIN_GRAD).parent.glob("*.py")))
    return [
        at_least(f"{what}, {STUDENTS} submissions of one exercise, `--isolation none`", median(loose), 40, "a second"),
        at_least(f"the same, isolated (`{chosen}`)", median(strict), 120, "a second"),
        at_least("the same, in the time of `import torch`", median(strict) * meanwhile, 250, "submissions"),
        at_least(
            f"the {exercises} exercises of `04_linear` each, isolated, in the time of `import torch`",
            median(whole) * meanwhile, 45, "submissions",
        ),
        at_most("isolated, how many times slower", median(loose) / median(strict), 1.3, "x"),
    ]  # fmt: skip


def hand_in(course: Path, students: int, *, whole_unit: bool = False) -> None:
    """Make a class: every second student has made a mistake; the rest of the unit, if it is submitted, is right."""
    right = (course / "exercises" / LIN_GRAD).read_text()
    wrong = right.replace("out.g.sum(0)", "out.g.mean(0)")
    assert right != wrong
    for i in range(students):
        path = course.parent / "submissions" / f"s{i:05}" / LIN_GRAD
        path.parent.mkdir(parents=True, exist_ok=True)
        for file in (course / "exercises" / LIN_GRAD).parent.glob("*.py") if whole_unit else ():
            shutil.copy(file, path.parent)
        path.write_text(wrong if i % 2 else right)


class ResultTimes:
    """Note when each result of a class is there, as the function that its progress is reported to."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, progress: GradingProgress) -> None:
        """Note the time of a report, unless no result is there yet."""
        if progress.done:
            self.times.append(time.perf_counter())

    @property
    def rate(self) -> float:
        """Return the results per second, from the first result to the last."""
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])


def grading_rate(course: Path, isolation: str, workers: int = WORKERS) -> float:
    """Return the submissions per second, from the first result to the last."""
    from grader.classroom.class_grading import grade_folder
    from grader.course.course import load_course

    out = course.parent / f"grades-{time.monotonic_ns()}"
    result_times = ResultTimes()
    summary = grade_folder(
        load_course(course), course.parent / "submissions", out, workers=workers, isolation=isolation,
        report=result_times,
    )  # fmt: skip
    assert summary.mistakes["lin_grad"][0].students == summary.graded // 2
    return result_times.rate


def endless(course: Path) -> list[Row]:
    """Measure the time that code without an end costs the class, beyond the time limit of the exercise."""
    from grader.course.course import load_course
    from grader.sandbox.isolation import choose, machine

    chosen, limit = choose(machine()), load_course(course).policy.time_limit
    hand_in(course, FEW)
    undisturbed, extra = FEW / grading_rate(course, chosen, 1), list[float]()
    for line in ENDLESS:
        file = course.parent / "submissions" / "s00050" / LIN_GRAD
        file.write_text(f"import time\ndef lin_grad(inp, out, w, b):\n    {line}\n")
        extra.append(FEW / grading_rate(course, chosen, 1) - undisturbed - limit)
    return [at_most("time that an endless submission costs its class beyond its time limit", max(extra), 1, "s")]


def crowd(course: Path) -> list[Row]:
    """Memory of a large run against that of a small one, and what it takes to see that nothing is left to do."""
    words = [*HANDGRAD, "grade", "../submissions", "--workers", str(WORKERS), "--out"]
    found = []
    for students, out in ((FEW, "../few"), (CROWD, "../many"), (CROWD, "../many")):
        hand_in(course, students)
        found.append(peaks([*words, out], course, _environment()))
    few, many, again = found
    what = f"peak memory of `handgrad grade`, {CROWD} submissions against {FEW}"
    return [
        at_most(what, many.grader / few.grader, 1.2, "x"),
        at_most("the same, of its warm processes", many.warm / few.warm, 1.2, "x"),
        at_most(
            f"the same command again, {CROWD} finished: its share of the time", again.seconds / many.seconds, 0.1, "x"
        ),
    ]


def beside_nbgrader(course: Path) -> list[Row]:
    """Measure nbgrader with handgrad's preprocessors, and `handgrad grade`, each against stock nbgrader."""
    from grader.sandbox.isolation import choose, machine

    unit = pace(course, "04_linear", NOTEBOOKS, STOCK)
    alone = solved_course(course.parent / "alone" / "course", ONE_EXERCISE)
    one = pace(alone, "04_linear", STOCK, STOCK)
    hand_in(alone, STUDENTS)
    rate = median(grading_rate(alone, choose(machine())) for _ in range(ROUNDS))
    what, ten = "`nbgrader autograde 04_linear`", unit.stock.of(10) / unit.ours.of(10)
    return [
        Row(f"{what}, a notebook, stock nbgrader", f"{unit.stock.more:.3g} s", "the unit", True),
        at_least(f"{what}, handgrad's preprocessors, how many times faster", unit.stock.more / unit.ours.more, 30, "x"),
        at_least(f"{what}, ten notebooks and its start, how many times faster", ten, 10, "x"),
        Row("a notebook of one exercise, stock nbgrader", f"{one.stock.more:.3g} s", "the unit", True),
        at_least(
            "`handgrad grade` on the same answers as files, how many times faster", rate * one.stock.more, 200, "x"
        ),
    ]


def pin(core: int) -> None:
    """Have this process, and whatever it starts from now on, use one core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def clustered(course: Path) -> list[Row]:
    """Workers of a Dask cluster on this machine, with one core and one grading process each: two against one."""
    from grader.classroom.class_folder import find_submissions
    from grader.classroom.class_grading import Grading, grade_class
    from grader.classroom.dask_pool import connected
    from grader.course.course import load_course

    hand_in(course, SHARED)
    loaded, rates = load_course(course), dict[int, list[float]]({1: [], 2: []})
    for turn in range(ROUNDS):
        for workers, measured in rates.items():
            result_times = ResultTimes()
            out = course.parent / f"shared-{turn}-{workers}"
            with connected("local", workers) as cluster:
                for core, address in enumerate(cluster.client.nthreads()):
                    cluster.client.run(pin, core, workers=[address])
                grading = Grading(workers, cluster.isolation(None), seed=1, cluster=cluster)
                class_folder = find_submissions(loaded, course.parent / "submissions", out)
                grade_class(loaded, class_folder, out, grading, result_times)
            measured.append(result_times.rate)
    one, two = (median(measured) for measured in rates.values())
    what = f"`handgrad grade --scheduler`, {SHARED} submissions of one exercise, after start-up"
    return [
        Row(f"{what}, one worker", f"{one:.3g} a second", "the unit", True),
        at_least("two workers, how many times faster", two / one, 1.8, "x"),
    ]


def records_of(course: Path, students: int, *only: str) -> Path:
    """Write the records of a class that submitted the whole course, with one mistake in it; only the names differ."""
    file, name = course / "exercises" / LIN_GRAD, f"{students}{''.join(only)}"
    handed_in, records = course.parent / f"whole-{name}", course.parent / f"records-{name}"
    shutil.copytree(course / "exercises", handed_in / "s" / "exercises")
    (handed_in / "s" / "exercises" / LIN_GRAD).write_text(file.read_text().replace("out.g.sum(0)", "out.g.mean(0)"))
    seconds([*HANDGRAD, "grade", str(handed_in), *only, "--out", str(records)], course)
    one = (records / "s.json").read_text()
    for i in range(students):
        (records / f"s{i:06}.json").write_text(one.replace('"student": "s"', f'"student": "s{i:06}"'))
    (records / "s.json").unlink()
    return records


REMOVAL = """
import gc, time
gc.disable()
start = time.process_time()
import torch, grader.child.job_answer
from grader.child.no_autograd import remove_autograd
imported = time.process_time()
remove_autograd()
print((time.process_time() - imported) / (imported - start))
"""


def without_autograd(course: Path) -> list[Row]:
    """Measure the processor time that removing autograd takes, in multiples of importing torch."""
    command = [sys.executable, "-c", REMOVAL]
    times = [float(subprocess.run(command, cwd=course, capture_output=True, check=True).stdout) for _ in range(REPEATS)]
    return [at_most("removing autograd from a warm process, in multiples of importing torch", median(times), 0.25, "x")]


def reported(course: Path) -> list[Row]:
    """Measure the report on a class that submitted the whole course, and on one of a single exercise."""
    whole, small = (records_of(course, REPORTED), records_of(course, LARGEST_REPORT, "--exercise", "lin_grad"))
    few, many = (peaks([*HANDGRAD, "report", str(records)], course, _environment()) for records in (whole, small))
    return [
        at_most(f"`handgrad report`, {REPORTED} records of the whole course", few.seconds, 5, "s"),
        at_most(f"`handgrad report`, {LARGEST_REPORT} records of one exercise", many.seconds, 60, "s"),
        at_most("its peak memory", many.grader / 1024, 1024, "MiB"),
    ]


def exports(course: Path) -> list[Row]:
    """Measure the export of the records of the whole course; the slowest platform counts."""
    from grader.export.platforms import PLATFORMS  # which imports much

    records, sheets = records_of(course, EXPORTED), course.parent
    rows = {
        "moodle": ("Identifier,Full name,Grade,Maximum Grade,Feedback comments", "Participant 1,{},,100,"),
        "canvas": ("Student,ID,SIS Login ID,Section,Gradients (1)", "{0},1,{0},A,"),
    }
    for name, (header, row) in rows.items():
        students = "".join(f"{row.format(path.stem)}\n" for path in sorted(records.glob("*.json")))
        (sheets / f"{name}.csv").write_text(f"{header}\n{students}")
    platforms = sorted(PLATFORMS, key="feedback".__eq__)  # its pages are measured last
    commands = [[*HANDGRAD, "export", str(records), "--to", name, "--out", f"../to-{name}",
                 *(("--fill", f"../{name}.csv") if name in rows else ())] for name in platforms]  # fmt: skip
    *times, pages = interleaved(commands, course)
    what = f"`handgrad export`, {EXPORTED} records of the whole course"
    return [
        at_most(f"{what}, the slowest of {len(times)} platforms", max(times), 2, "s"),
        at_most("the same, feedback pages", pages, 3, "s"),
    ]


PARTS: dict[str, Callable[[Path], list[Row]]] = {
    "learner": learner,
    "author": author,
    "warm": warm_check,
    "watch": watched,
    "class": whole_class,
    "endless": endless,
    "removal": without_autograd,
    "crowd": crowd,
    "nbgrader": beside_nbgrader,
    "exports": exports,
    "report": reported,
    "cluster": clustered,
    "no-torch": without_torch,
    "beside": beside_others,
}


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [f"| {row.what} | {row.measured} | {row.target} | {'yes' if row.met else '**no**'} |" for row in rows]
    return "\n".join(["| what | measured | target | met |", "|---|---|---|---|", *lines, ""])


def page(rows: Sequence[Row]) -> str:
    """Return the content of `benchmarks/README.md`."""
    where = (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, torch {version('torch')}"
    )
    return f"""# What is measured

Made by `python benchmarks/run.py --write`, on {where}.

{table(rows)}
- Everything is measured in one run. The learner's commands alternate with `import torch`, and `x` is the ratio of
  the medians of {REPEATS} rounds. Each command runs in a new process, in a course in which every exercise is solved.
- The warm check is the median of {CHECKS - 1} checks in one process: three answers, every trial, a forked child each.
- The time after a save is the median of {2 * SAVES} saves by another process, of right and wrong files in turn.
- The class alternates right submissions and wrong ones, whose mistake is named. Start-up (importing torch, the
  references of the whole course) ends with the first result. The time to write results and gradebook is included.
  Runs with and without isolation alternate, {ROUNDS} rounds each; the rates are medians. A machine's speed changes
  within the hour. Therefore the rate is also given in submissions for one `import torch`.
- One of {FEW} submissions never ends, in {len(ENDLESS)} ways, one after the other, with one worker. The time of the
  class without it is subtracted, and the longest difference is shown.
- Peak memory is the maximum of the resident set. The {CROWD} submissions are like those of the class.
- nbgrader grades one notebook after the other: {STOCK} with stock nbgrader and {NOTEBOOKS} with handgrad's
  preprocessors, in turn, {ROUNDS} rounds. Every second notebook has a mistake. The time for one notebook is subtracted.
  Both must give the same scores.
- The exported records are alike: one student's record of the whole course, with one mistake in it. So are the records
  of the report.
- A worker of the cluster is a Dask worker on this machine with one core and one grading process. Scheduler and
  coordinator share the cores. Rates are measured from the first result to the last; they are medians of {ROUNDS} rounds
  in turn. `python benchmarks/plan.py` measures what a very large class costs.
- Commands that must not import torch are given in seconds: medians of {REPEATS} rounds.
- Another project's tests run with handgrad's pytest plugin and without it, {TURNS} rounds in turn. The fastest run of
  each is compared.

Other scripts measure other things:

- `python benchmarks/naming.py 04_linear`: how many wrong submissions are named correctly, and the cost in multiples of
  torch's gradcheck of the same function. It takes any units.
- `python benchmarks/corpus_names.py 04_linear` prints the codes, the operators and the candidates of a unit's
  submissions.
- `python benchmarks/suites.py`: the time of `pytest tests/ -n 2`, in multiples of `import torch` before and after it:
  at most 180. `python benchmarks/suites.py --ci` adds all of `.ci/run`, which runs that suite three times and installs
  torch twice: at most 2400.
- `python benchmarks/sweeping.py`: the cost of a sweep and of a candidate of a program, in multiples of torch's backward
  pass.
"""


def main() -> None:
    """Print the table; `--write` stores it beside this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the table in benchmarks/README.md")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part; may be repeated")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write stores the whole table: leave out --only")
    rows: list[Row] = []
    for name in options.only or PARTS:
        with tempfile.TemporaryDirectory(prefix="handgrad-bench-") as folder:
            rows += PARTS[name](solved_course(Path(folder) / "course"))
    print(table(rows))
    if options.write:
        README.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
