"""What people write: right however it is spelled, wrong with the code of its mistake, or asked again; never slow.

The pages are in `quiz_answers/`, one for each unit; `hostile_answers.py` holds what is refused by every question.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.courses import AT_ONCE
from helpers.formula_drawing import FORMULAS
from helpers.hostile_answers import ANSWERS
from hypothesis import given

from grader.course.course import load_course
from grader.course.plain_yaml import read_map
from grader.course.questions import AnswerableQuestion, Choice, Choices, Expression
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.answer_sheet import how_to_answer
from grader.quiz.variants import every_values, question_with_key, question_with_values

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "tests/quiz_answers").glob("*.yaml"))
COURSE = load_course(ROOT)
HOSTS = [
    ("01_slopes", "forward_of_square"), ("01_slopes", "calls"), ("01_slopes", "grad_shape"), ("01_slopes", "tiny_step"),
    ("02_chain_rule", "backward_twice"), ("02_chain_rule", "true_of_backward"), ("03_one_example", "bias_gradient"),
    ("04_linear", "size_of_stack"), ("04_linear", "weight_gradient"), ("05_activations", "enough"),
    ("06_losses", "logsumexp_of_row"), ("08_shapes", "home_again"), ("08_shapes", "learned_scale"),
]  # fmt: skip


def question(unit: str, name: str) -> AnswerableQuestion:
    """A question as variant 0 has it."""
    return question_with_key(COURSE.find(f"quiz_{unit}").quiz, name, 0)


def spellings() -> Iterator[tuple[str, str, str, str]]:
    """Unit, question, `right` or a code, and an answer."""
    for page in PAGES:
        for name, by_code in read_map(page.read_text(encoding="utf-8")).items():
            assert isinstance(by_code, dict), name
            for code, answers in by_code.items():
                for answer in str(answers).splitlines():
                    yield page.stem, str(name), str(code), answer.replace("\\n", "\n")


SPELLINGS: dict[tuple[str, str], list[tuple[str, str]]] = {}
for _unit, _name, _code, _answer in spellings():
    SPELLINGS.setdefault((_unit, _name), []).append((_code, _answer))


@pytest.mark.parametrize(("unit", "name"), SPELLINGS)
def test_an_answer_is_understood_however_it_is_written(unit: str, name: str) -> None:
    asked = question(unit, name)
    misjudged = []
    for code, answer in SPELLINGS[unit, name]:
        found = mistake_in(asked, answer)
        if (found.code if found else "right") != code:
            misjudged.append(f"{answer!r} is not {code}, but {found or 'right'}")
    assert not misjudged, "\n".join(misjudged)


def test_what_a_question_defines_may_be_used_in_the_answer() -> None:
    """Every name on the left of an equation in the question is one of its variables."""
    missing = []
    for quiz in (exercise.quiz for exercise in COURSE.exercises if exercise.is_quiz):
        for name, asked in quiz.questions.items():
            if isinstance(asked, Expression):
                defined = re.findall(r"(?<![\w.(])([a-z]\w*) = ", asked.ask)
                missing += [(name, variable) for variable in defined if variable not in asked.given]
    assert not missing


def test_no_example_of_an_answer_is_an_answer() -> None:
    """What is said of the form of an answer, and of one that cannot be read, holds no right one."""
    accepted = []
    for quiz in (exercise.quiz for exercise in COURSE.exercises if exercise.is_quiz):
        for name, asked in quiz.questions.items():
            for values in every_values(asked):
                drawn = question_with_values(quiz, name, values)
                if isinstance(drawn, Choice | Choices):
                    continue
                unread = mistake_in(drawn, "something that nobody reads")
                assert unread is not None
                examples = re.findall(r"\([^()]*\)|-?\d[\d./]*", f"{how_to_answer(asked)} {unread.says}")
                accepted += [(name, example) for example in examples if mistake_in(drawn, example) is None]
    assert not accepted


def test_the_collection_is_as_large_as_it_says() -> None:
    codes = [code for _, _, code, _ in spellings()]
    assert codes.count("right") >= 1900
    assert len(codes) - codes.count("right") - codes.count("not-read") >= 1300
    assert len(ANSWERS) >= 300


@pytest.mark.parametrize(("recipe", "host"), list(zip(ANSWERS, itertools.cycle(HOSTS), strict=False)))
def test_a_hostile_answer_is_refused_at_once(recipe: str, host: tuple[str, str]) -> None:
    """By questions of each kind, one for each answer; `thorough/test_every_hostile_answer.py` has all of both."""
    assert_refused(recipe, [host])


def assert_refused(recipe: str, hosts: list[tuple[str, str]]) -> None:
    """Check that an answer is no right answer to these questions, soon and in few words."""
    answer = eval(recipe)
    for unit, name in hosts:
        started = time.process_time()
        found = mistake_in(question(unit, name), answer)
        assert time.process_time() - started < AT_ONCE, name
        assert found is not None, name
        assert len(found.says) < 400


@given(FORMULAS)
def test_whatever_is_drawn_from_the_grammar_is_judged(formula: str) -> None:
    """An answer that cannot be judged raises, and would be an error of ours; see `sheet_grading`."""
    for unit, name in HOSTS:
        mistake_in(question(unit, name), formula)
