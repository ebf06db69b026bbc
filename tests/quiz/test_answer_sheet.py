"""The answer sheet: easy to fill in by hand or one answer at a time; a hostile one gets one clear sentence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from helpers.courses import AT_ONCE
from hypothesis import given
from hypothesis import strategies as st

from grader.course.course import Course
from grader.course.plain_yaml import read_map
from grader.course.quiz import Quiz, read_quiz
from grader.errors import ReadError
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.answer_sheet import (
    LARGEST,
    Sheet,
    blank_sheet,
    decode_sheet,
    read_sheet,
    right_answer,
    solved_sheet,
    variant_of,
    with_answer,
)
from grader.quiz.variants import question_with_key

SOURCE = """\
entries:
  kind: number
  ask: "How many entries has an array ({n}, 2)? A long question about it,\\n\\nin two paragraphs."
  listing: |
    import torch
    torch.ones({n}, 2)
  params: {n: [3, 5, 7]}
  right: "{2*n}"
  hints: [Think.]
  because: There are {n} rows.
pick:
  kind: choice
  ask: Which?
  right: {good: This one.}
  wrong: {bad: {text: That one., code: wrong-sign, says: It is not.}}
  hints: [Think.]
  because: It is.
both:
  kind: choices
  ask: Which of these?
  right: {p: {text: P, code: todo, says: p}, q: {text: Q, code: todo, says: q}}
  wrong: {r: {text: R, code: todo, says: r}}
  hints: [Think.]
  because: They are.
formula:
  kind: expression
  ask: What is it?
  given: {inp: bs n, out.g: bs m}
  right: inp.T @ out.g
  hints: [Think.]
  because: It is.
"""


@pytest.fixture(scope="module")
def quiz(tmp_path_factory: pytest.TempPathFactory) -> Quiz:
    path = tmp_path_factory.mktemp("quiz") / "quiz.yaml"
    path.write_text(SOURCE)
    return read_quiz(path)


SHEET = """\
# The quiz of unit 01_unit. Write each answer behind its name, in place of null,
# or let handgrad ask you one question at a time, in the terminal: handgrad quiz 01_unit
# See which of your answers are right: handgrad check quiz_01_unit

# Which numbers you were given; leave it as it is.
variant: 0

# 1. How many entries has an array (3, 2)? A long question about it,
#
#    in two paragraphs.
#
#        import torch
#        torch.ones(3, 2)
#
#    Answer with a number.
entries: null

# 2. Which?
#
#      good  This one.
#      bad   That one.
#
#    Answer with the word in front of the right choice.
pick: null

# 3. Which of these?
#
#      r  R
#      p  P
#      q  Q
#
#    Answer with the words in front of all right choices, separated by commas.
both: null

# 4. What is it?
#
#    Answer with a formula in inp and out.g, as you would write it in Python.
formula: null
"""


def test_a_blank_sheet_shows_every_question_and_no_key(quiz: Quiz) -> None:
    text = blank_sheet("01_unit", quiz)
    assert text == SHEET
    assert not any(secret in text for secret in ("6", "because", "It is not", "inp.T", "Think"))
    assert read_sheet(text, quiz) == Sheet(0, {})


def test_another_variant_asks_about_other_numbers(quiz: Quiz) -> None:
    texts = {blank_sheet("01_unit", quiz, variant).partition("\n\n# 1.")[2] for variant in range(40)}
    assert len(texts) > 10
    assert read_sheet(blank_sheet("01_unit", quiz, 4711), quiz).variant == 4711


def test_a_solved_sheet_is_right_and_says_why(quiz: Quiz) -> None:
    for variant in (0, 1, 2, 3):
        text = solved_sheet("01_unit", quiz, variant)
        sheet = read_sheet(text, quiz)
        assert sheet.variant == variant
        assert set(sheet.answers) == set(quiz.questions)
        assert not any(
            mistake_in(question_with_key(quiz, name, variant), answer) for name, answer in sheet.answers.items()
        )
    assert 'formula: "inp.T @ out.g"\n#    It is.\n' in text


PICK = SHEET[: SHEET.index("pick: null")].count("\n") + 1


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("6", "6"), ("'6'", "6"), ('"6"', "6"), ("6 # sure", "6"), ("", None), ("null", None),
        ("~", None), ("...", None),
        ("''", None), ("no", "no"), ("yes", "yes"), ("1e-5", "1e-5"), ("inp.T @ out.g", "inp.T @ out.g"),
        ("-x", "-x"), ("(bs, n)", "(bs, n)"), ("[bs, n]", "bs, n"), ("{bs, n}", "bs, n"), ("[]", None),
        ("[ 4,3 ]", "4, 3"),
        ("\n  - p\n  - q", "p, q"), ("|\n  inp.T\n  @ out.g", "inp.T\n@ out.g"), (">-\n  a\n  b", "a b"),
        ("  spaced  ", "spaced"), ("x: ", ReadError), ("{a: b}", ReadError), ("[[4, 3]]", ReadError), ("@x", ReadError),
    ],
)  # fmt: skip
def test_an_answer_may_be_written_in_many_ways(quiz: Quiz, written: str, answer: object) -> None:
    text = SHEET.replace("pick: null", f"pick: {written}")
    if answer is ReadError:
        with pytest.raises(ReadError):
            read_sheet(text, quiz)
    else:
        assert read_sheet(text, quiz).answers == ({} if answer is None else {"pick": answer})


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("variant: 0", "", 1, "the line `variant: N` is missing"),
        ("variant: 0", "variant: many", 6, "must be the whole number that stood there"),
        ("variant: 0", "variant: -1", 6, "must be the whole number that stood there"),
        ("variant: 0", "variant: [1]", 6, "must be the whole number that stood there"),
        ("variant: 0", "variant:", 6, "must be the whole number that stood there"),
        ("variant: 0", f"variant: {'9' * 5000}", 6, "must be the whole number that stood there"),
        ("variant: 0", "variant: ١", 6, "must be the whole number that stood there"),
        ("pick: null", "pick: good\npick: bad", PICK + 1, f"pick is there a second time, after line {PICK}"),
        ("pick: null", "\tpick: good", PICK, "not valid YAML"),
        ("pick: null", "pick: a: b", PICK, "not valid YAML"),
        ("pick: null", "pick: {good: {bad: x}}", PICK, "the answer to pick is split by a colon"),
        ("pick: null", "pick: [[good]]", PICK, "the answer to pick has brackets within brackets"),
        ("pick: null", "pick: *good", PICK, "references (& and *) are not allowed"),
        ("pick: null", "pick: !!python/name:os.system", PICK, "tags (!) are not allowed"),
    ],
)
def test_a_broken_sheet_says_where_in_one_sentence(quiz: Quiz, old: str, new: str, line: int, says: str) -> None:
    with pytest.raises(ReadError) as refused:
        read_sheet(SHEET.replace(old, new), quiz)
    assert refused.value.line == line
    assert says in refused.value.problem
    assert "\n" not in refused.value.problem


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b"#" * (LARGEST + 1), 1, "larger than 32 KiB"),
        (b"a: 1\nb: \xff", 2, "not UTF-8"),
        ("variant: 0\n".encode("utf-16"), 1, "not UTF-8"),
        (b"\x00\x00", None, ""),
    ],
)
def test_bytes_that_are_no_sheet_are_refused(quiz: Quiz, content: bytes, line: int | None, says: str) -> None:
    with pytest.raises(ReadError) as refused:
        read_sheet(decode_sheet(content), quiz)
    assert line is None or refused.value.line == line
    assert says in refused.value.problem


def test_the_largest_sheets_are_read_at_once(quiz: Quiz) -> None:
    for line in ("k{}: 1\n", "k{}: [x]\n", 'k{}: "' + "x" * 50 + '"\n', "# {} remark\n"):
        text = "variant: 0\n" + "".join(line.format(i) for i in range(4000))
        started = time.process_time()
        sheet = read_sheet(text[: LARGEST - 100].rpartition("\n")[0] + "\n", quiz)
        assert time.process_time() - started < AT_ONCE
        assert sheet.answers == {}


def test_a_byte_order_mark_and_other_line_ends_do_no_harm(quiz: Quiz) -> None:
    text = SHEET.replace("pick: null", "pick: good").replace("\n", "\r\n")
    assert read_sheet(decode_sheet(b"\xef\xbb\xbf" + text.encode()), quiz).answers == {"pick": "good"}


def test_names_that_no_question_has_are_kept_apart(quiz: Quiz) -> None:
    sheet = read_sheet(SHEET.replace("pick: null", "pikc: good"), quiz)
    assert sheet.answers == {}
    assert [(str(name), name.line) for name in sheet.unknown] == [("pikc", PICK)]


ANSWERS = ["6", "good", "p, q", "inp.T @ out.g", "x: y", "# no", "'", '"', "- a", "{", "null", "é ☃", "a\\b", "no"]
WRITTEN = [
    "null", "", "~", "bad", "'bad' # remark", '"b\\"ad"', "[p, q]", "{p, q}", "\n  - p\n  - q", "|\n  bad\n  worse",
]  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("written", WRITTEN)
def test_an_answer_is_written_in_its_place_and_nothing_else_changes(quiz: Quiz, written: str, answer: str) -> None:
    before = SHEET.replace("pick: null", f"pick: {written}")
    after = with_answer(before, quiz, "pick", answer)
    head, tail = SHEET.split("pick: null")
    assert after.startswith(f"{head}pick: ")
    assert after.endswith(tail)
    assert read_sheet(after, quiz).answers == {"pick": answer}
    assert with_answer(after, quiz, "pick", answer) == after


def test_remarks_and_line_ends_of_a_learners_own_stay(quiz: Quiz) -> None:
    before = SHEET.replace("pick: null", "pick:   bad   # not sure").replace("\n", "\r\n")
    after = with_answer(before, quiz, "pick", "good")
    assert after == before.replace("pick:   bad", "pick: good")


def test_a_question_that_the_sheet_lacks_is_added_with_its_text(quiz: Quiz) -> None:
    head, _, _ = SHEET.partition("\n# 4. ")
    after = with_answer(head, quiz, "formula", "inp.T @ out.g")
    assert after == SHEET.replace("formula: null", 'formula: "inp.T @ out.g"')
    assert read_sheet(with_answer("variant: 3", quiz, "pick", "good"), quiz) == Sheet(3, {"pick": "good"})


def test_a_broken_sheet_is_not_written_to(quiz: Quiz) -> None:
    with pytest.raises(ReadError, match="not valid YAML"):
        with_answer("variant: 0\npick: [", quiz, "pick", "good")


@given(answers=st.lists(st.tuples(st.sampled_from(["entries", "pick", "both", "formula"]), st.sampled_from(ANSWERS))))
def test_any_row_of_answers_ends_in_the_last_ones(quiz: Quiz, answers: list[tuple[str, str]]) -> None:
    text = SHEET
    for name, answer in answers:
        text = with_answer(text, quiz, name, answer)
    assert read_sheet(text, quiz).answers == dict(answers)
    remarks = [line for line in text.splitlines() if line.startswith("#")]
    assert remarks == [line for line in SHEET.splitlines() if line.startswith("#")]


@given(answer=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_any_answer_reads_back(quiz: Quiz, answer: str) -> None:
    if answer.strip():
        assert read_sheet(with_answer(SHEET, quiz, "pick", answer.strip()), quiz).answers == {"pick": answer.strip()}


def test_the_variant_of_a_file_is_0_where_none_can_be_read(tmp_path: Path) -> None:
    sheet = tmp_path / "quiz.yaml"
    assert variant_of(sheet) == 0
    sheet.write_text("variant: 17\n")
    assert variant_of(sheet) == 17
    sheet.write_text("variant: [")
    assert variant_of(sheet) == 0


def test_every_quiz_of_the_course_has_a_sheet_that_reads_back(course: Course) -> None:
    for exercise in course.exercises:
        if exercise.is_quiz:
            tree = read_map(blank_sheet(exercise.unit, exercise.quiz, 5))
            assert list(tree) == ["variant", *exercise.quiz.questions]
            names = list(exercise.quiz.questions)
            posed = [question_with_key(exercise.quiz, name, 5) for name in names]
            assert not any(mistake_in(question, right_answer(question)) for question in posed)
