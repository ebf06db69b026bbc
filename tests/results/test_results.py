"""In a result record scores add up and the gravest status counts, and JSON text of it reads back unchanged."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest
from helpers.courses import solution
from helpers.grading import Grade
from hypothesis import given
from hypothesis import strategies as st

from grader.course.course import Course
from grader.results.codes import CODES, STRUCTURE_CODES, VALUE_CODES
from grader.results.records import (
    LARGEST_SEED,
    SCHEMA,
    SCHEMA_FILE,
    AnswerResult,
    ExerciseResult,
    Status,
    StudentResults,
    dumps,
    exercise_from_json,
    exit_code,
)

PUBLIC = """
    todo missing-function syntax-error error timeout memory crash missing-answer returned-not-stored wrong-attribute
    wrong-type wrong-shape wrong-dtype not-finite mutated-input used-autograd imprecise not-repeatable missing-upstream
    missing-local extra-factor missing-path missing-batch-sum extra-batch-sum partial-batch mean-for-sum sum-for-mean
    sum-of-products summed-wrong-axis transposed reshape-for-transpose elementwise-for-matmul diagonal-only
    broadcast-accident wrong-sign wrong-factor wrong-point wrong-operand value-for-gradient forward-value
    inverse-for-transpose inverted-mask overwritten hard-coded shape-special wrong-local unknown
""".split()
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
PASSED = AnswerResult("w.g", "passed", 1.0, 1.0)
FAILED = AnswerResult("w.g", "failed", 0.0, 1.0, "wrong-sign", "every entry ...", "nudge ...", ("a", "b", "c"), 2.0)
TODO = AnswerResult("b.g", "todo", 0.0, 1.0, "todo", "not attempted yet")
ERROR = AnswerResult("b.g", "error", 0.0, 1.0, "error", "the warm process was lost")

texts = st.text(st.characters(codec="utf-8"), max_size=20)
codes = st.sampled_from(sorted(CODES))
scores = {"score": st.floats(0, 1), "max_score": st.just(1.0)}
told = {
    "message": texts,
    "evidence": texts,
    "hints": st.lists(texts, max_size=3).map(tuple),
    "error": st.none() | st.floats(0, 1e9),
}
names = st.sampled_from(["w.g", "b.g", "return"])
answers = st.builds(AnswerResult, name=names, status=st.just("passed"), **scores) | st.builds(
    AnswerResult, name=names, status=st.sampled_from(["failed", "todo", "error"]), code=codes, **scores, **told
)
exercises = st.builds(
    ExerciseResult,
    st.sampled_from(["lin_grad", "e1"]),
    st.just("04_linear"),
    st.lists(answers, min_size=1, max_size=3).map(tuple),
)


def course_result(*exercises: ExerciseResult) -> StudentResults:
    return StudentResults("handgrad", "s001", exercises, 7, "box", "0" * 64, ("an unknown file was ignored",))


def test_the_public_codes_keep_their_names() -> None:
    assert set(PUBLIC) <= CODES
    assert STRUCTURE_CODES.isdisjoint(VALUE_CODES)


@pytest.mark.parametrize(
    ("found", "status", "code"),
    [
        ((PASSED,), "passed", 0),
        ((PASSED, TODO), "todo", 1),
        ((TODO, FAILED), "failed", 1),
        ((FAILED, ERROR), "error", 3),
        ((PASSED, ERROR), "error", 3),
    ],
)
def test_the_gravest_status_wins_and_decides_the_exit_code(
    found: tuple[AnswerResult, ...], status: Status, code: int
) -> None:
    exercise = ExerciseResult("e", "u", found)
    assert exercise.status == status
    assert exit_code([ExerciseResult("first", "u", (PASSED,)), exercise]) == code


def test_no_exercises_count_as_passed() -> None:
    assert exit_code([]) == 0


def test_scores_add_up() -> None:
    exercise = ExerciseResult("e", "u", (PASSED, FAILED, TODO))
    assert (exercise.score, exercise.max_score) == (1.0, 3.0)
    result = course_result(exercise, exercise)
    assert (result.score, result.max_score) == (2.0, 6.0)


def test_three_thirds_of_a_point_are_a_point() -> None:
    third = AnswerResult("w.g", "passed", 1 / 3, 1 / 3)
    record = course_result(ExerciseResult("e", "u", (third,) * 3)).record
    assert record["score"] == record["max_score"] == 1.0


@given(st.lists(exercises, max_size=3))
def test_every_record_follows_the_published_schema(found: list[ExerciseResult]) -> None:
    VALIDATOR.validate(course_result(*found).record)


def test_the_schema_is_sound_and_lists_every_code() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)
    assert set(VALIDATOR.schema["$defs"]["code"]["enum"]) == CODES


@pytest.mark.parametrize(
    "broken",
    [
        {"schema": "handgrad/result@1"},
        {"score": -1},
        {"exercises": [{}]},
        {"exercises": None},
        {"student": 5},
        {"verdict": "fine"},
        {"seed": -1},
        {"seed": LARGEST_SEED + 1},
        {"seed": 0.5},
        {"seed": "7"},
        {"isolation": "docker"},
        {"isolation": ""},
        {"score": None},
        {"reason": ""},
        {"submission": {"lin_grad": "x"}},
        {"known_as": "ada"},
        {"course_digest": "x"},
        {"raw_score": None},
        {"adjustments": []},
        {"late": {}},
        {"made_from": "yesterday"},
    ],
)
def test_the_schema_refuses_what_is_no_record(broken: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({**course_result().record, **broken})


@pytest.mark.parametrize("missing", ["seed", "isolation", "made_from", "notes", "course_digest", "raw_score", "units"])
def test_no_part_of_a_record_may_be_left_out(missing: str) -> None:
    record = course_result().record
    del record[missing]
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(record)


def test_the_largest_seed_survives_a_reader_that_knows_only_doubles() -> None:
    record = replace(course_result(), seed=LARGEST_SEED).record
    VALIDATOR.validate(record)
    assert json.loads(json.dumps(record), parse_int=float)["seed"] == LARGEST_SEED
    assert float(LARGEST_SEED) != float(LARGEST_SEED - 1)


@given(exercises)
def test_an_exercise_is_unchanged_after_writing_and_reading_json(exercise: ExerciseResult) -> None:
    back = exercise_from_json(json.loads(json.dumps(exercise.record)))
    assert (back.id, back.unit, back.status) == (exercise.id, exercise.unit, exercise.status)
    assert [a.code for a in back.answers] == [a.code for a in exercise.answers]
    assert [a.hints for a in back.answers] == [a.hints for a in exercise.answers]


def test_the_record_is_readable_json_text() -> None:
    text = dumps(course_result(ExerciseResult("e", "u", (FAILED,))))
    record = json.loads(text)
    assert record["schema"] == SCHEMA == "handgrad/result@2"
    assert record["exercises"][0]["answers"][0] == {
        "name": "w.g",
        "status": "failed",
        "score": 0.0,
        "max_score": 1.0,
        "code": "wrong-sign",
        "message": "every entry ...",
        "evidence": "nudge ...",
        "hints": ["a", "b", "c"],
        "error": 2.0,
    }
    assert text.endswith("}\n")


@pytest.mark.parametrize(
    "source",
    [
        "def relu_grad(inp, out):\n    raise ValueError('\\ud800 \\x1b[31m \\x00')\n",
        "def relu_grad(inp, out):\n    inp.g = out.g * float('nan')\n",
        "def relu_grad(inp, out):\n    setattr(inp, 'g\\ud800', out.g)\n",
        "def relu_grad(inp, out):\n    return type('\\udfff', (), {})()\n",
        "def r\u00e9lu(inp, out): pass\n",
    ],
    ids=["message", "nan", "attribute", "type", "name"],
)
def test_whatever_a_learner_wrote_the_record_can_be_saved(source: str, course: Course, grade: Grade) -> None:
    """Lone surrogates, control characters, nan: the text is UTF-8 and the numbers are JSON."""
    result = grade("relu_grad", source)
    data = dumps(course_result(result)).encode("utf-8")
    VALIDATOR.validate(json.loads(data))
    assert "\x1b" not in result.answers[0].message
    assert "\x00" not in result.answers[0].message


def test_a_graded_solution_gives_a_whole_record(course: Course, grade: Grade) -> None:
    record = course_result(grade("lin_grad", solution(course, "lin_grad"))).record
    assert (record["score"], record["max_score"]) == (3.0, 3.0)
    assert [answer["code"] for answer in record["exercises"][0]["answers"]] == [None] * 3
