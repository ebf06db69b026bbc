"""A learner's answer sheet: YAML with each question as a comment, followed by `name: answer`."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course.plain_yaml import NOTHING, Map, Text, YamlNode, read_map
from grader.course.questions import AnswerableQuestion, Choice, Choices, Expression, Number, Question, Shape
from grader.course.quiz import VARIANT, Quiz
from grader.errors import ReadError

from .variants import options, question_of, question_with_key

WIDTH = 96
LARGEST = 32 << 10
LARGEST_VARIANT = 1 << 32
PLAIN = re.compile(r"[A-Za-z0-9][\w.+-]*", re.ASCII)


@dataclass(frozen=True)
class Sheet:
    """Hold the answers on a sheet.

    Args:
        variant: the number of the variant, which determines the numbers in the questions.
        answers: the answers by question, as text, a list joined by commas; without those left blank.
        unknown: the names on the sheet that are no questions of the quiz.
    """

    variant: int
    answers: Mapping[str, str]
    unknown: tuple[Text, ...] = ()


def read_sheet(text: str, quiz: Quiz) -> Sheet:
    """Return the answers on a sheet.

    Args:
        text: the text of the file.
        quiz: the quiz with its questions.

    Raises:
        ReadError: the text is no YAML, or has no usable variant.
    """
    tree = read_map(text)
    answers = {str(name): _answer(name, node) for name, node in tree.items() if name in quiz.questions}
    unknown = tuple(name for name in tree if name not in quiz.questions and name != VARIANT)
    return Sheet(_variant(tree), {name: answer for name, answer in answers.items() if answer}, unknown)


def variant_of(path: Path) -> int:
    """Return the number of the variant on the sheet in a file; 0 if the sheet cannot be read."""
    try:
        return _variant(read_map(decode_sheet(path.read_bytes())))
    except (OSError, ReadError):
        return 0


def decode_sheet(content: bytes) -> str:
    """Return the text of a sheet, without the byte order mark that some editors write.

    Raises:
        ReadError: the content is far too large, or no UTF-8.
    """
    if len(content) > LARGEST:
        raise ReadError(1, f"the file is larger than {LARGEST >> 10} KiB: keep nothing but the answers in it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ReadError(line, "this is not UTF-8 text: save the file as UTF-8") from error


def _variant(tree: Mapping[Text, YamlNode]) -> int:
    """Return the number of the variant on a sheet.

    Raises:
        ReadError: the sheet names no variant, or the number is not valid.
    """
    name = next((key for key in tree if key == VARIANT), None)
    if name is None:
        raise ReadError(1, "the line `variant: N` is missing: put it back as it was")
    node = tree[name]
    if not isinstance(node, Text) or not re.fullmatch(r"\d{1,10}", node, re.ASCII) or int(node) > LARGEST_VARIANT:
        raise ReadError(name.line, "the variant must be the whole number that stood there: put it back")
    return int(node)


def _answer(name: Text, node: YamlNode) -> str:
    """Return an answer as text, a list joined by commas; empty for a blank.

    A set, such as `{a, c}`, counts as a list.

    Args:
        name: the id of the question, for the message of an error and its line.
        node: the value that the sheet has for it.

    Raises:
        ReadError: the value is neither a text nor a list of texts.
    """
    if isinstance(node, Text):
        return "" if node.blank else node.strip()
    parts: list[YamlNode] = list(node)
    if isinstance(node, Map) and not all(isinstance(value, Text) and value.blank for value in node.values()):
        raise ReadError(name.line, f"the answer to {name} is split by a colon: put it in quotes")
    if not all(isinstance(part, Text) for part in parts):
        raise ReadError(name.line, f"the answer to {name} has brackets within brackets: write one answer, or one list")
    return ", ".join(str(part) for part in parts)


def with_answer(text: str, quiz: Quiz, name: str, answer: str) -> str:
    """Return the text of a sheet with one answer changed, and nothing else; a missing question is added at the end.

    Args:
        text: the text of the sheet.
        quiz: the quiz with its questions.
        name: the id of the question.
        answer: the new answer.

    Raises:
        ReadError: the sheet cannot be read, or the answer cannot be written into it.
    """
    before, tree = read_sheet(text, quiz), read_map(text)
    key = next((key for key in tree if key == name), None)
    changed = (
        _replace_answer(text, key, tree[key], answer)
        if key is not None
        else _add_question(text, quiz, before, name, answer)
    )
    after = read_sheet(changed, quiz)
    if after != Sheet(before.variant, {**before.answers, name: answer}, before.unknown):
        line = key.line if key is not None else 1
        raise ReadError(line, f"the answer to {name} cannot be written there: write it as `{name}: {_yaml(answer)}`")
    return changed


def _replace_answer(text: str, key: Text, node: YamlNode, answer: str) -> str:
    """Return the text of a sheet with another answer in place of one that it has.

    Args:
        text: the text of the sheet.
        key: the id of the question as the sheet writes it, which knows its line.
        node: the answer that is replaced, which knows its place.
        answer: the new answer, not yet quoted for YAML.
    """
    colon = text.index(":", key.end) + 1
    if node.start == node.end:  # nothing is there
        return f"{text[:colon]} {_yaml(answer)}{text[colon:]}"
    end = node.start + len(text[node.start : node.end].rstrip())  # a block of text includes the empty lines behind it
    return f"{text[:colon]} {_yaml(answer)}{text[end:]}"


def _add_question(text: str, quiz: Quiz, sheet: Sheet, name: str, answer: str) -> str:
    """Return the text of a sheet with a question and its answer added at the end.

    Args:
        text: the text of the sheet.
        quiz: the quiz.
        sheet: the parsed sheet, which knows the variant.
        name: the id of the question.
        answer: the answer to the question.
    """
    lines = _question(list(quiz.questions).index(name) + 1, name, question_of(quiz, name, sheet.variant), sheet.variant)
    return "\n".join([text.rstrip(), "", *lines, f"{name}: {_yaml(answer)}", ""])


def _yaml(answer: str) -> str:
    """Return an answer as a YAML value: as it is, or in quotes if YAML could read it as something else."""
    return answer if PLAIN.fullmatch(answer) and answer not in NOTHING else json.dumps(answer, ensure_ascii=False)


def blank_sheet(unit: str, quiz: Quiz, variant: int = 0) -> str:
    """Return the text of a sheet without answers.

    Args:
        unit: the id of the unit.
        quiz: the quiz of the unit.
        variant: the number of the variant.
    """
    lines = [
        f"# The quiz of unit {unit}. Write each answer behind its name, in place of null,",
        f"# or let handgrad ask you one question at a time, in the terminal: handgrad quiz {unit}",
        f"# See which of your answers are right: handgrad check quiz_{unit}",
        "",
        "# Which numbers you were given; leave it as it is.",
        f"{VARIANT}: {variant}",
    ]
    for number, name in enumerate(quiz.questions, 1):
        lines += ["", *_question(number, name, question_of(quiz, name, variant), variant), f"{name}: null"]
    return "\n".join(lines) + "\n"


def solved_sheet(unit: str, quiz: Quiz, variant: int = 0) -> str:
    """Return the text of a sheet with every right answer, and the reason why it is right.

    Args:
        unit: the id of the unit.
        quiz: the quiz of the unit.
        variant: the number of the variant.

    Raises:
        SpecError: the right answer of a prediction was never computed.
    """
    lines = [f"# The quiz of unit {unit}, answered.", f"{VARIANT}: {variant}"]
    for number, name in enumerate(quiz.questions, 1):
        question = question_with_key(quiz, name, variant)
        because = [f"# {line}".rstrip() for line in _wrapped(question.because, "   ", "   ")]
        question_lines = _question(number, name, question_of(quiz, name, variant), variant)
        lines += ["", *question_lines, f"{name}: {_yaml(right_answer(question))}", *because]
    return "\n".join(lines) + "\n"


def right_answer(question: AnswerableQuestion) -> str:
    """Return a right answer, as it is written on a sheet: for choices the names of all right ones, joined by commas."""
    return ", ".join(question.right) if isinstance(question, (Choice, Choices)) else question.right


def _question(number: int, name: str, question: Question, variant: int) -> list[str]:
    """Return the comment lines that show a question on a sheet, with its choices in the order of the variant.

    Args:
        number: the number that stands before the question, from 1.
        name: the id of the question.
        question: the question, with its numbers filled in.
        variant: the number of the variant.
    """
    lines = [*_wrapped(question.ask, f"{number}. ", "   ")]
    if question.listing:
        lines += ["", *(f"       {line}".rstrip() for line in question.listing.rstrip().splitlines())]
    if isinstance(question, (Choice, Choices)):
        choices = options(name, question, variant)
        width = max(map(len, choices))
        lines.append("")
        for label, text in choices.items():
            lines += _wrapped(text, f"     {label:<{width}}  ", " " * (width + 7))
    lines += ["", *_wrapped(how_to_answer(question), "   ", "   ")]
    return [f"# {line}".rstrip() for line in lines]


def how_to_answer(question: Question | AnswerableQuestion) -> str:
    """Return the sentence that says which kind of answer a question has."""
    if isinstance(question, Choice):
        return "Answer with the word in front of the right choice."
    if isinstance(question, Choices):
        return "Answer with the words in front of all right choices, separated by commas."
    if isinstance(question, Number):
        return f"Answer with a number, in {question.unit}." if question.unit else "Answer with a number."
    if isinstance(question, Shape):
        return "Answer with a shape, such as (k, 3) or (k,)."
    if isinstance(question, Expression):
        names = list(question.given)
        return f"Answer with a formula in {_join_words(names)}, as you would write it in Python."
    return "Answer with what its last line gives: a number, a shape, None, True or False; error if it stops."


def _join_words(words: Iterable[str]) -> str:
    """Return one or more words as a list in a sentence: "a", "a and b", "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _wrapped(text: str, first: str, others: str) -> Iterator[str]:
    """Yield the lines of a text, each paragraph wrapped and indented, with an empty line between paragraphs.

    Args:
        text: the paragraphs, with empty lines between them.
        first: what stands before the first line.
        others: what stands before every other line.
    """
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ""
        yield from textwrap.wrap(
            paragraph, WIDTH, initial_indent=others if number else first, subsequent_indent=others,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
