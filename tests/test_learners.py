"""Check the checker: several hundred small submissions, each with one known outcome.

The head of a file says what is expected: `# expect w.g: mean-for-sum`, alternatives separated by ` | `, `*` for
every answer. An answer that is not listed must pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import SEED, codes, with_policy

from grader.course import Course
from grader.judging.grading import Grader
from grader.quiz.questions import codes_of
from grader.results import CODES, VALUE_CODES
from grader.sandbox.worker import Worker

LEARNERS = Path(__file__).parent / "learners"
FILES = {path.relative_to(LEARNERS).as_posix(): path for path in sorted(LEARNERS.rglob("*.py"))}
RIGHT = [name for name in FILES if name.startswith("right/")]
WRONG = [name for name in FILES if name.startswith("wrong/")]
OTHER_SEEDS = (1, 77, 2**40 + 5)
SAMPLE = sorted(FILES, key=lambda name: hashlib.sha256(name.encode()).digest())[:60]
WITHOUT_MISCONCEPTIONS = 0.9
NAMED = frozenset(VALUE_CODES) - {"unknown"}

Expected = Mapping[str, frozenset[str]]


def expectations(path: Path) -> Expected:
    """What the head of a learner's file says: answer name (or `*`) -> allowed codes."""
    found = {}
    for line in path.read_bytes().decode("utf-8", "replace").splitlines():
        if line.startswith("# expect "):
            name, allowed = line.removeprefix("# expect ").split(": ")
            found[name] = frozenset(code.strip() for code in allowed.split("|"))
    return found


def mismatches(expected: Expected, found: Mapping[str, str | None]) -> dict[str, tuple[str | None, list[str]]]:
    """Answers whose code is not among the expected ones: name -> (code, expected)."""
    allowed = {name: expected.get(name, expected.get("*", frozenset())) for name in found}
    return {
        name: (code, sorted(allowed[name]) or ["passed"])
        for name, code in found.items()
        if (code not in allowed[name] if allowed[name] else code is not None)
    }


def found_codes(name: str, course: Course, grader: Grader, worker: Worker) -> dict[str, str | None]:
    exercise = course.find(FILES[name].parent.name)
    return codes(grader.grade(exercise, FILES[name].read_bytes(), worker))


@pytest.mark.parametrize("name", FILES)
def test_every_answer_gets_its_expected_code(name: str, course: Course, grader: Grader, worker: Worker) -> None:
    assert mismatches(expectations(FILES[name]), found_codes(name, course, grader, worker)) == {}


@pytest.mark.parametrize("name", FILES)
def test_the_head_of_a_file_can_be_read(name: str, course: Course) -> None:
    """Expectations name known codes and answers of the exercise; right files expect nothing, wrong ones something."""
    expected = expectations(FILES[name])
    assert bool(expected) == name.startswith("wrong/")
    assert set().union(*expected.values()) <= CODES
    answers = course.find(FILES[name].parent.name).declaration.answers
    assert set(expected) <= {"*", *(answer.name for answer in answers)}


def test_the_corpus_is_large_enough() -> None:
    assert len(WRONG) >= 100
    assert len(RIGHT) >= 50


def test_every_code_has_a_submission_or_an_answer_that_earns_it(course: Course) -> None:
    expected = set().union(*(codes for name in WRONG for codes in expectations(FILES[name]).values()))
    quizzes = [exercise.quiz for exercise in course.exercises if exercise.is_quiz]
    asked = set().union(*(codes_of(question) for quiz in quizzes for question in quiz.questions.values()))
    assert CODES - expected - asked == set()


def test_every_exercise_has_right_and_wrong_submissions(course: Course) -> None:
    functions = {exercise.id for exercise in course.exercises if not exercise.is_quiz}
    for group in (RIGHT, WRONG):
        assert functions == {FILES[name].parent.name for name in group}


@pytest.fixture(scope="session")
def first_verdicts(course: Course, grader: Grader, worker: Worker) -> dict[str, dict[str, str | None]]:
    """The codes of the sample under the session's own seed and worker."""
    return {name: found_codes(name, course, grader, worker) for name in SAMPLE}


@pytest.mark.parametrize("seed", OTHER_SEEDS)
def test_verdicts_do_not_depend_on_the_seed_or_the_worker(
    seed: int, each_worker: Worker, course: Course, first_verdicts: dict[str, dict[str, str | None]]
) -> None:
    """The same codes for a sample of sixty files, whatever inputs are drawn, forked or spawned."""
    other = Grader(seed)
    assert {name: found_codes(name, course, other, each_worker) for name in SAMPLE} == first_verdicts


def without_misconceptions(course: Course) -> Course:
    """The same course, in which no exercise declares a misconception."""
    bare = with_policy(course)
    for unit in course.config.units:
        found = course.declarations(unit.id).items()
        bare._specs[unit.id] = {name: replace(declaration, misconceptions=()) for name, declaration in found}
    return bare


def test_most_mistakes_are_named_without_declared_misconceptions(course: Course, worker: Worker) -> None:
    """The forward graph and generic relations alone still name at least 90 % of the wrong numbers."""
    bare, grader = without_misconceptions(course), Grader(SEED)
    named, missed = 0, []
    for name in WRONG:
        expected = expectations(FILES[name])
        if not any(allowed <= NAMED for allowed in expected.values()):
            continue
        for answer, code in found_codes(name, bare, grader, worker).items():
            allowed = expected.get(answer, expected.get("*", frozenset()))
            if not allowed or not allowed <= NAMED:
                continue
            named += code in allowed
            missed += [f"{name} {answer}: {code}, not {' | '.join(sorted(allowed))}"] if code not in allowed else []
    share = named / (named + len(missed))
    print("\n".join(missed))
    print(f"without declared misconceptions: {named} of {named + len(missed)} wrong answers named ({share:.1%})")
    assert share >= WITHOUT_MISCONCEPTIONS
