"""A class of right, wrong and hostile submissions: each gets its result, and nothing is graded twice."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from unittest.mock import Mock

import jsonschema
import pytest
from helpers.courses import SEED
from test_worker_probe import PROBE, right_reply

from grader.child.protocol import Frame
from grader.classroom import class_grading as batch
from grader.classroom import results_folder
from grader.classroom.class_folder import find_submissions
from grader.classroom.class_grading import Grading, GradingProgress, grade_class
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.grades_table import ClassSummary, Failure, MistakeCount, NothingToGrade
from grader.classroom.platform_names import Submission, single_submission
from grader.classroom.results_folder import open_results_folder
from grader.classroom.submissions import SubmissionContent, read_submission
from grader.course.course import PACKAGE, Course, CourseFile, load_course
from grader.errors import InfrastructureError, UsageError
from grader.files import write_atomically
from grader.judging import grading_pool
from grader.results.codes import CODES
from grader.results.records import SCHEMA_FILE
from grader.sandbox.worker import Unanswered

pytestmark = pytest.mark.slow

grade_folder = partial(batch.grade_folder, isolation="none", ask=lambda nothing: True)
ROOT = PACKAGE.parent
RIGHT = (ROOT / "solutions/04_linear/lin_grad.py").read_text()
MEAN = RIGHT.replace("out.g.sum(0)", "out.g.mean(0)")
PARTLY = RIGHT.replace("b.g = out.g.sum(0)", "b.g = ...")
RELU = (ROOT / "solutions/05_activations/relu_grad.py").read_text()
LIN, RELU_FILE = "04_linear/lin_grad.py", "05_activations/relu_grad.py"


def submission(code: str) -> str:
    return f"import os, time\n\ndef lin_grad(inp, out, w, b):\n    {code}\n"


CLASS: dict[str, dict[str, str | bytes]] = {
    "=cmd()": {LIN: MEAN, RELU_FILE: RELU},
    "Núñez, José": {f"exercises/{LIN}": RIGHT},
    "all right": {LIN: RIGHT, RELU_FILE: RELU},
    "empty": {},
    "exits": {LIN: submission("os._exit(0)")},
    "flat": {"lin_grad.py": RIGHT, "relu_grad.py": RELU},
    "floods": {LIN: submission("print('x' * 10_000_000)")},
    "hangs": {LIN: submission("time.sleep(60)"), RELU_FILE: RELU},
    "latin-1": {LIN: RIGHT.encode() + b"# \xe9\n"},
    "mean": {LIN: MEAN},
    "partly": {LIN: PARTLY},
    "stranger": {LIN: RIGHT, "04_linear/extra.py": "", "04_linear/README.md": "", "essay.txt": "", "junk/x.py": ""},
    "too large": {LIN: b"#" * (1 << 20) + b"\n"},
}
LIN_POINTS = {"=cmd()": 2, "Núñez, José": 3, "all right": 3, "flat": 3, "mean": 2, "partly": 2, "stranger": 3}


def hand_in(submissions: Path, student: str, files: dict[str, str | bytes]) -> Path:
    folder = submissions / student
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def small_course(root: Path) -> Course:
    """Return a course with two exercises of the real one, and a time limit of one second for each."""
    course = load_course(root)
    wanted = {"lin_grad", "relu_grad"}
    units = [
        {**unit.model_dump(), "exercises": [e.model_dump() for e in unit.exercises if e.id in wanted], "quiz": None}
        for unit in course.config.units
        if wanted & {entry.id for entry in unit.exercises}
    ]
    config = {**course.config.model_dump(), "units": units, "policy": {"time_limit": 1}}
    return replace(course, config=CourseFile.model_validate(config))


@pytest.fixture(scope="module")
def course() -> Course:
    return small_course(ROOT)


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    submissions = tmp_path_factory.mktemp("school") / "submissions"
    for student, files in CLASS.items():
        hand_in(submissions, student, files)
    (submissions / "deadline.txt").write_text("Friday")
    return submissions


@pytest.fixture(scope="module")
def graded(
    course: Course,
    school: Path,
    tmp_path_factory: pytest.TempPathFactory,
    shared_pool: Callable[[], AbstractContextManager[None]],
) -> tuple[Path, ClassSummary]:
    out = tmp_path_factory.mktemp("graded") / "out"
    with shared_pool():
        return out, grade_folder(course, school, out, workers=2, seed=SEED)


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Return the folder of a class of two students whose code runs fast."""
    hand_in(tmp_path / "submissions", "ada", {LIN: RIGHT})
    hand_in(tmp_path / "submissions", "bob", {LIN: MEAN})
    return tmp_path / "submissions"


class Lost:
    """Act as a worker that answers the probe before a class, and is lost at the first job."""

    pid = 0

    def __init__(self, isolation: str = "none") -> None:
        pass

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        return right_reply() if job.header["filename"] == PROBE else self.end()

    def end(self) -> Frame | Unanswered:
        raise InfrastructureError("the warm process was lost")

    def close(self) -> None:
        pass

    def __enter__(self) -> Lost:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Crashing(Lost):
    """Act as a worker whose every job crashes at once."""

    def end(self) -> Frame | Unanswered:
        return Unanswered("crash", detail="it was asked to")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace worker processes by objects that crash, for tests in which answers do not matter."""
    monkeypatch.setattr(grading_pool, "start_worker", Crashing)


def record(out: Path, student: str) -> dict:
    return json.loads((out / f"{student}.json").read_text(encoding="utf-8"))


def names_of(course: Course) -> ExerciseNames:
    return ExerciseNames(course, course.exercises)


def read(course: Course, folder: Path) -> SubmissionContent:
    return read_submission(names_of(course), single_submission(folder))


def lin_grad(out: Path, student: str) -> dict:
    return next(found for found in record(out, student)["exercises"] if found["id"] == "lin_grad")


def codes(out: Path, student: str) -> list[str | None]:
    return [answer["code"] for answer in lin_grad(out, student)["answers"]]


def gradebook(out: Path) -> list[dict[str, str]]:
    with open(out / "grades.csv", encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def files_in(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


@cache
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schema_knows_exactly_the_public_codes() -> None:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    assert set(schema["$defs"]["code"]["enum"]) == CODES


def test_every_result_validates_against_the_schema(graded) -> None:
    out, _ = graded
    for student in CLASS:
        validator().validate(record(out, student))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "handgrad/result@1"},
        {"score": -1},
        {"graded_at": "today"},
        {"exercises": [{"id": "lin_grad"}]},
        {"notes": None},
    ],
)
def test_the_schema_refuses_an_invalid_result(graded, change) -> None:
    assert not validator().is_valid({**record(graded[0], "mean"), **change})


@pytest.mark.parametrize("change", [{"code": "mean-for-sum"}, {"status": "failed"}, {"status": "late"}, {"error": -1}])
def test_the_schema_refuses_a_contradictory_answer(graded, change) -> None:
    result = record(graded[0], "all right")
    result["exercises"][0]["answers"][0] |= change
    assert not validator().is_valid(result)


@pytest.mark.parametrize(
    ("student", "expected"),
    [
        ("all right", [None, None, None]),
        ("flat", [None, None, None]),
        ("Núñez, José", [None, None, None]),
        ("mean", [None, None, "mean-for-sum"]),
        ("partly", [None, None, "todo"]),
        ("exits", ["crash"] * 3),
        ("floods", ["missing-answer"] * 3),
        ("hangs", ["timeout"] * 3),
        ("latin-1", ["syntax-error"] * 3),
        ("too large", ["syntax-error"] * 3),
    ],
)
def test_each_submission_has_its_one_outcome(graded, student, expected) -> None:
    assert codes(graded[0], student) == expected


def test_every_record_holds_every_exercise_of_the_run_and_what_is_missing_is_todo(graded) -> None:
    held = {student: {each["id"]: each for each in record(graded[0], student)["exercises"]} for student in CLASS}
    assert {tuple(exercises) for exercises in held.values()} == {("lin_grad", "relu_grad")}
    assert {each["status"] for each in held["all right"].values()} == {"passed"}
    assert (held["mean"]["relu_grad"]["status"], held["mean"]["relu_grad"]["score"]) == ("todo", 0)
    assert {each["status"] for each in held["empty"].values()} == {"todo"}
    assert held["mean"]["relu_grad"]["answers"] == [
        {
            "name": "inp.g", "status": "todo", "score": 0, "max_score": 1, "code": "todo", "message": "not handed in",
            "evidence": "", "hints": [], "error": None,
        }
    ]  # fmt: skip
    assert len({record(graded[0], student)["course_digest"] for student in CLASS}) == 1
    assert {record(graded[0], student)["max_score"] for student in CLASS} == {4}
    assert record(graded[0], "mean")["units"] == [
        {"id": "04_linear", "score": 2, "max_score": 3},
        {"id": "05_activations", "score": 0, "max_score": 1},
    ]


def test_a_file_that_is_too_large_is_a_failure_of_the_student_and_says_so(graded) -> None:
    found = lin_grad(graded[0], "too large")
    assert (found["status"], found["score"]) == ("failed", 0)
    assert found["answers"][0]["message"] == (
        "the file was not read: it is larger than 1 MiB; hand in the answers alone"
    )


def test_the_rest_of_a_submission_that_hangs_is_graded(graded) -> None:
    assert record(graded[0], "hangs")["score"] == 1


def test_unknown_files_are_noted_and_ignored(graded) -> None:
    result = record(graded[0], "stranger")
    assert result["score"] == 3
    assert sorted(result["notes"]) == [
        f"{name} was ignored: it is no exercise that is graded here"
        for name in ("04_linear/extra.py", "essay.txt", "junk/x.py")
    ]
    assert record(graded[0], "all right")["notes"] == []


def test_the_gradebook_opens_in_any_spreadsheet(graded) -> None:
    out, _ = graded
    assert (
        (out / "grades.csv")
        .read_bytes()
        .startswith(
            b"\xef\xbb\xbfstudent,score,max_score,04_linear,05_activations,lin_grad,relu_grad,mistakes,notes\r\n"
        )
    )
    rows = gradebook(out)
    assert [row["student"] for row in rows] == ["'=cmd()", *sorted(set(CLASS) - {"=cmd()"})]
    assert {row["student"].removeprefix("'"): float(row["lin_grad"]) for row in rows} == {
        student: LIN_POINTS.get(student, 0) for student in CLASS
    }
    assert {row["max_score"] for row in rows} == {"4"}
    assert rows[0]["mistakes"] == "lin_grad b.g: mean-for-sum"


def test_the_summary_counts_students_and_mistakes(graded) -> None:
    _, summary = graded
    assert (summary.students, summary.graded, summary.reused) == (len(CLASS), len(CLASS) - 3, 0)
    assert summary.strays == ("deadline.txt",)
    assert summary.errors == ()
    assert summary.max_score == 4
    assert summary.mean_score == pytest.approx((sum(LIN_POINTS.values()) + 4) / len(CLASS))
    assert summary.mistakes["lin_grad"][0] == MistakeCount("mean-for-sum", 2)
    assert summary.mistakes["relu_grad"] == ()
    assert [(unit.students, unit.max_score) for unit in summary.units.values()] == [(len(CLASS) - 2, 3), (4, 1)]
    assert summary.nothing == (
        NothingToGrade("empty", "it is empty"),
        NothingToGrade(
            "latin-1",
            f"{LIN}: the file was not read: line 20, after '#', has the byte 0xE9, which is é in Latin-1; it must be "
            "saved as UTF-8",
        ),
        NothingToGrade(
            "too large", f"{LIN}: the file was not read: it is larger than 1 MiB; hand in the answers alone"
        ),
    )


def test_nothing_unchanged_is_graded_again(course, school, graded, monkeypatch) -> None:
    out, _ = graded
    before = files_in(out)
    monkeypatch.setattr(grading_pool, "start_worker", None)
    summary = grade_folder(course, school, out, workers=2)
    assert (summary.graded, summary.reused) == (0, len(CLASS))
    assert files_in(out) == before


def test_a_changed_submission_is_graded_again(course, pair, tmp_path, quick) -> None:
    out = tmp_path / "out"
    grade_folder(course, pair, out, workers=1)
    (pair / "bob" / LIN).write_text(PARTLY)
    hand_in(pair, "cem", {LIN: RIGHT})
    told: list[GradingProgress] = []
    summary = grade_folder(course, pair, out, workers=2, report=told.append)
    assert (summary.graded, summary.reused) == (2, 1)
    assert [progress.done for progress in told] == [0, 1, 2, 3]
    assert {progress.total for progress in told} == {3}
    assert [row["student"] for row in gradebook(out)] == ["ada", "bob", "cem"]


def test_a_changed_course_grades_everything_again(course, pair, tmp_path, quick) -> None:
    grade_folder(course, pair, tmp_path / "out", workers=1)
    policy = course.policy.model_copy(update={"time_limit": 2})
    longer = replace(course, config=course.config.model_copy(update={"policy": policy}))
    assert grade_folder(longer, pair, tmp_path / "out", workers=1).reused == 0


def test_a_seed_that_is_asked_for_is_the_seed_of_every_result(course, pair, tmp_path, quick) -> None:
    out = tmp_path / "out"
    grade_folder(course, pair, out, workers=1, seed=SEED)
    assert grade_folder(course, pair, out, workers=1).reused == 2
    assert grade_folder(course, pair, out, workers=1, seed=SEED).reused == 2
    assert grade_folder(course, pair, out, workers=1, seed=SEED + 1).reused == 0


def seeds(out: Path) -> dict[str, int | None]:
    return {path.stem: record(out, path.stem)["seed"] for path in out.glob("*.json")}


def test_all_records_of_a_folder_share_one_seed(course, pair, tmp_path, quick) -> None:
    out = tmp_path / "out"

    def run(*students: str, seed: int | None = None) -> ClassSummary:
        class_folder = find_submissions(course, pair, out)
        return grade_class(course, class_folder, out, Grading(1, "none", seed, students=frozenset(students)))

    run(seed=5)
    hand_in(pair, "cem", {LIN: RIGHT})
    (pair / "ada" / LIN).write_text(MEAN)
    assert not run("ada").seed_changed
    assert seeds(out) == {"ada": 5, "bob": 5}
    summary = run()
    assert (summary.graded, summary.reused, summary.seed_changed) == (1, 2, False)
    assert seeds(out) == {"ada": 5, "bob": 5, "cem": 5}
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(UsageError, match=r"out was graded with seed 5: leave out --seed, or leave out --student to"):
        run("ada", seed=6)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    summary = run(seed=6)
    assert (summary.graded, summary.seed_changed, seeds(out)) == (3, True, {"ada": 6, "bob": 6, "cem": 6})


def test_records_of_several_seeds_get_the_seed_that_most_of_them_have(course, pair, tmp_path, quick) -> None:
    out = tmp_path / "out"
    hand_in(pair, "cem", {LIN: RIGHT})
    grade_folder(course, pair, out, workers=1, seed=7)
    (out / "ada.json").write_bytes(other((out / "ada.json").read_bytes(), seed=2))
    alone = Grading(1, "none", students=frozenset({"bob"}))
    assert not grade_class(course, find_submissions(course, pair, out), out, alone).seed_changed, "bob's has not"
    summary = grade_folder(course, pair, out, workers=1)
    assert (summary.graded, summary.reused, summary.seed_changed) == (1, 2, True)
    assert seeds(out) == {"ada": 7, "bob": 7, "cem": 7}


def other(record: bytes, **changes: object) -> bytes:
    return json.dumps({**json.loads(record), **changes}).encode()


BROKEN = (
    lambda record: b"",
    lambda record: record[:-3],
    lambda record: b"\0" * len(record),
    lambda record: b"[" * 100_000,
    lambda record: b"[]",
    lambda record: other(record, schema="handgrad/result@0"),
    lambda record: other(record, exercises=[1]),
    lambda record: other(record, student=1),
    lambda record: other(record, made_from=None),
)


def test_a_stored_result_that_is_broken_is_made_again(course, tmp_path, quick) -> None:
    school, out = tmp_path / "submissions", tmp_path / "out"
    for student in range(len(BROKEN) + 1):
        hand_in(school, f"s{student}", {LIN: MEAN})
    grade_folder(course, school, out, workers=1, seed=SEED)
    whole = files_in(out)
    for student, damage in enumerate(BROKEN):
        (out / f"s{student}.json").write_bytes(damage(whole[f"s{student}.json"]))
    summary = grade_folder(course, school, out, workers=1, seed=SEED)
    assert (summary.graded, summary.reused) == (len(BROKEN), 1)
    assert {**files_in(out), "changes.csv": whole["changes.csv"]} == whole


def test_a_record_holds_its_seed_its_isolation_and_its_hash(graded) -> None:
    made = {student: record(graded[0], student) for student in CLASS}
    nothing = {"empty", "latin-1", "too large"}
    assert {(made[name]["seed"], made[name]["isolation"]) for name in CLASS.keys() - nothing} == {(SEED, "none")}
    assert {(made[name]["seed"], made[name]["isolation"]) for name in nothing} == {(None, None)}
    same = made["all right"]["made_from"] == made["flat"]["made_from"]
    assert same, "the same files in another place are the same submission"
    assert len({found["made_from"] for found in made.values()}) == len(CLASS) - 1


def test_the_seed_is_in_the_record_alone_and_there_once(course, pair, tmp_path, quick) -> None:
    """It is not in the gradebook, which others may see, nor in what learners see, which is made from the exercises."""
    grade_folder(course, pair, tmp_path / "out", workers=1)
    written = files_in(tmp_path / "out")
    seed = str(record(tmp_path / "out", "ada")["seed"]).encode()
    assert {name: data.count(seed) for name, data in written.items()} == {
        "ada.json": 1,
        "bob.json": 1,
        "changes.csv": 0,
        "grades.csv": 0,
    }


def test_unfinished_files_of_a_killed_run_are_removed(course, pair, tmp_path, quick, monkeypatch) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / ".notes.tmp").write_text("not ours")
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", Mock(side_effect=SystemExit))
        patch.setattr("os.unlink", Mock())
        with pytest.raises(SystemExit):
            write_atomically(out / "ada.json", b"half")
    assert len(list(out.glob(".*.tmp"))) == 2
    grade_folder(course, pair, out, workers=1)
    assert list(out.glob(".*")) == [out / ".notes.tmp"]


def test_two_runs_do_not_grade_into_the_same_folder(course, pair, tmp_path, quick) -> None:
    out = tmp_path / "out"
    with open_results_folder(names_of(course), out, isolated=False):
        assert refusal(course, pair, out) == (
            f"Another run is grading into {out}: wait for it, or name another folder with --out."
        )
    assert grade_folder(course, pair, out, workers=1).graded == 2


def test_each_submission_is_read_once_and_never_in_the_process_of_the_class(
    course, school, tmp_path, quick, monkeypatch
) -> None:
    log = tmp_path / "log"

    def reading(names: ExerciseNames, submission: Submission) -> SubmissionContent:
        with log.open("a", encoding="utf-8") as file:
            print(os.getpid(), submission.key, file=file)
        return read_submission(names, submission)

    def read() -> list[str]:
        lines = [line.split(" ", 1) for line in log.read_text(encoding="utf-8").splitlines()]
        log.unlink()
        assert str(os.getpid()) not in {process for process, _ in lines}
        return sorted(key for _, key in lines)

    monkeypatch.setattr("grader.classroom.submissions.read_submission", reading)
    grade_folder(course, school, tmp_path / "out", workers=2)
    assert read() == sorted([*CLASS, min(CLASS)]), "the first one twice, to see whether there is anything to grade"
    monkeypatch.setattr(batch, "GradingPool", None)  # which would import torch
    assert grade_folder(course, school, tmp_path / "out", workers=2).reused == len(CLASS)
    assert read() == sorted(CLASS)


def test_a_submission_that_cannot_be_graded_is_an_error_and_no_silent_zero(course, pair, tmp_path, monkeypatch) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(grading_pool, "start_worker", Lost)
        summary = grade_folder(course, pair, out, workers=2)
    assert summary.errors == tuple(Failure(name, "lin_grad", "the warm process was lost") for name in ("ada", "bob"))
    assert lin_grad(out, "ada")["status"] == "error"
    assert [row["lin_grad"] for row in gradebook(out)] == ["error", "error"]
    validator().validate(record(out, "ada"))
    monkeypatch.setattr(grading_pool, "start_worker", Crashing)
    assert grade_folder(course, pair, out, workers=1).graded == 2


def test_links_that_lead_out_are_not_followed(course, tmp_path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text(RIGHT)
    folder = hand_in(tmp_path / "submissions", "eve", {"mine/lin_grad.py": RIGHT})
    (folder / "04_linear").mkdir()
    (folder / LIN).symlink_to(secret)
    (folder / "05_activations").symlink_to(ROOT / "solutions/05_activations")
    (folder / "lin_grad.py").symlink_to("mine/lin_grad.py")
    (folder / "loop.py").symlink_to("loop.py")
    (folder / "relu_grad.py").mkdir()
    found = read(course, folder)
    link = "it is a link; ask for the file itself"
    assert found.files == {"lin_grad": RIGHT.encode()}
    assert sorted(found.notes) == [
        f"{LIN} was not graded: it could not be read",
        f"05_activations was ignored: {link}",
        "lin_grad.py was not graded: it could not be read",
        f"loop.py was ignored: {link}",
    ]


def test_a_pipe_in_a_submission_is_not_opened(course, tmp_path) -> None:
    folder = hand_in(tmp_path, "eve", {})
    os.mkfifo(folder / "lin_grad.py")
    found = read(course, folder)
    assert found.nothing == (
        "lin_grad.py: the file was not read: it is no file, but a pipe or a device; ask for the file itself"
    )


def test_a_thousand_stray_files_make_few_notes_with_nothing_for_the_terminal(course, tmp_path) -> None:
    folder = hand_in(tmp_path, "eve", {f"\x1b[2J{i:03}.txt": "" for i in range(300)})
    notes = read(course, folder).notes
    assert len(notes) == 21
    assert notes[0] == r"\x1b[2J003.txt was ignored: it is no exercise that is graded here"
    assert notes[-1] == "277 more files were ignored", "three are named where it says that nothing is an exercise"


def test_any_folder_name_is_a_student(course, tmp_path, quick) -> None:
    submissions, out = tmp_path / "submissions", tmp_path / "out"
    for raw in ("ä" * 120, os.fsdecode(b"b\xff"), "'; drop", 'q"uote', "line\nbreak", ".hidden"):
        hand_in(submissions, raw, {})
    summary = grade_folder(course, submissions, out, workers=1)
    assert summary.students == 5
    assert sorted(row["student"] for row in gradebook(out)) == sorted(
        ["ä" * 120, r"b\xff", "'; drop", 'q"uote', r"line\x0abreak"]
    )
    assert grade_folder(course, submissions, out, workers=1).reused == 5


def test_results_may_lie_among_the_submissions(course, pair, quick) -> None:
    for reused in (0, 2):
        summary = grade_folder(course, pair, pair / "grades", workers=1)
        assert (summary.students, summary.reused, summary.strays) == (2, reused, ())


def refusal(course: Course, submissions: Path, out: Path, workers: int = 1) -> str:
    with pytest.raises(UsageError) as caught:
        grade_folder(course, submissions, out, workers=workers)
    return str(caught.value)


def test_wrong_usage_is_one_sentence_that_says_what_to_do(course, pair, tmp_path) -> None:
    nowhere, empty, file = tmp_path / "nowhere", tmp_path / "empty", tmp_path / "file"
    empty.mkdir()
    file.write_text("")
    one = hand_in(tmp_path, "one", {LIN: RIGHT})
    out = tmp_path / "out"
    assert refusal(course, nowhere, out) == (
        f"{nowhere} cannot be read (No such file or directory): name the folder that holds one folder per student, "
        "or an archive."
    )
    assert refusal(course, empty, out) == (
        f"{empty} holds no student folders: give each student one, laid out like exercises/, "
        "or name what was downloaded as it came."
    )
    assert refusal(course, one, out) == (
        f"{one} is laid out like one student's submission: name the folder above it, or grade it alone with --one."
    )
    assert refusal(course, pair, file) == f"Results cannot be written to {file}: name another folder with --out."
    assert refusal(course, pair, pair) == (
        f"{pair} holds the submissions: name another folder for the results with --out."
    )
    assert refusal(course, pair, out, 0) == "0 workers cannot grade anything: ask for one or more."


def test_a_full_disk_stops_the_run_with_one_sentence(course, pair, tmp_path, quick, monkeypatch) -> None:
    out = tmp_path / "out"
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(results_folder, "write_atomically", Mock(side_effect=full))
    monkeypatch.setattr(results_folder.tempfile, "TemporaryFile", Mock(side_effect=[io.BytesIO(), full]))
    with pytest.raises(InfrastructureError, match=r"cannot be written \(No space left on device\): close it or make"):
        grade_folder(course, pair, out, workers=1)
    assert not list(out.iterdir())


def test_a_record_that_cannot_be_written_costs_one_student_alone(course, pair, tmp_path, quick) -> None:
    out = tmp_path / "out"
    (out / "ada.json").mkdir(parents=True)
    summary = grade_folder(course, pair, out, workers=1)
    (failure,) = summary.errors
    assert (failure.student, failure.exercise) == ("ada", "")
    assert "Is a directory" in failure.message
    assert record(out, "bob")["student"] == "bob"
    ada, bob = gradebook(out)
    assert (ada["score"], ada["notes"]) == ("", f"not graded: {failure.message}")
    assert bob["score"] == "0"
    assert not list(out.glob(".*.tmp"))
