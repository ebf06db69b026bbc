"""The choices that an answer names: by their names, by their texts or by letters, with words and signs between them."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Mapping

from grader.course.questions import Choice, Choices
from grader.errors import ExpressionError

from .answer_reading import quoted

LONGEST_PART = 60  # of an answer, that is compared with the names of the choices
LEAST_WORDS = 3  # of the text of a choice, that stand for its name
NEGATIONS = frozenset("not no never nor neither none wrong or but except".split())
SHORTEST_PART = 6  # of an answer, that is looked for in the texts of the choices
_BETWEEN = re.compile(
    r"""[\s,;:&+/|.=()\[\]{}"'`]|[–-](?!\d)"""
    r"|\b(?:and|both|also|as well as|just|only|always|it|is|the|an?|answer|are|choices?)\b", re.I
)  # fmt: skip
"""What changes no choice before, between and behind their names."""
_PART = re.compile(r"[^,;\n]*")
_REASON = re.compile(r"[\s,.:;–-]*(?:because|since)\b.*", re.I | re.S)
_REMARK = re.compile(r"\s*\([^()]*\)")
_LAST_REMARK = re.compile(r"\s*(?:[:,–-]\s.*|\(.*\)\.?)\Z", re.S)
_WORD = re.compile(r"(?<!\w)[A-Za-z]+(?!\w)")
_PIECE = re.compile(r"\w+|[^\w\s]")
SAME_SIGNS = str.maketrans("−–·×’", "--**'")


def choice_texts(question: Choice | Choices) -> dict[str, str]:
    """Return the text of each choice by its name, the right ones first."""
    texts = {name: right if isinstance(right, str) else right.text for name, right in question.right.items()}
    return texts | {name: wrong.text for name, wrong in question.wrong.items()}


def named_choices(question: Choice | Choices, answer: str, letters: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the names of the choices in an answer such as "b", "(A)", "w1.g and b1.g" or "adds: it adds to x.grad".

    An answer that cannot be read so names the one choice whose text has its words side by side, at least `LEAST_WORDS`.

    Args:
        question: the question.
        answer: the answer as typed.
        letters: the name of each choice by the letter that the learner sees, if choices are shown with letters.

    Returns:
        Each name once, in the order of the answer; exactly one for a `Choice`.

    Raises:
        ExpressionError: a part of the answer is no choice; or several are named where one is wanted, or none.
    """
    texts = choice_texts(question)
    try:
        names = _named_one_by_one(question, answer.translate(SAME_SIGNS), letters or {})
    except ExpressionError:
        quoted_texts = [name for name, text in texts.items() if _is_part_of(answer, text, LEAST_WORDS)]
        if len(quoted_texts) != 1:
            raise
        names = quoted_texts
    if len(names) > 1 and isinstance(question, Choice):
        raise ExpressionError("it names more than one choice: write the one that is right")
    return tuple(names)


def _named_one_by_one(question: Choice | Choices, answer: str, letters: Mapping[str, str]) -> list[str]:
    """Return the names of the choices in an answer, each once, in the order of the answer.

    Of names that begin at the same place the longest counts; what stands behind a reason, `because ...`, is not read.

    Args:
        question: the question.
        answer: the answer.
        letters: the name of each choice by the letter that the learner sees; may be empty.

    Raises:
        ExpressionError: a part of the answer is no choice, or no choice is named.
    """
    texts, named, place, end = choice_texts(question), list[str](), 0, 0
    spellings = {text.rstrip("."): name for name, text in texts.items()} | {name: name for name in texts} | {**letters}
    patterns = [(_pattern(spelled), name) for spelled, name in spellings.items()]
    in_every_text = set.intersection(*({*_words(text)} for text in texts.values())) - NEGATIONS
    while place < len(answer):
        matches = [(match.end(), name) for pattern, name in patterns if (match := pattern.match(answer, place))]
        word = _WORD.match(answer, place)
        if matches:
            end, name = max(matches, key=lambda match: match[0])
            place = end
            named.append(name)
            is_names = {*_words(answer[place:])} <= texts.keys()  # also if they stand side by side in its text
            if _REASON.match(answer, place) or (not is_names and _is_part_of(answer[place:], texts[name])):
                break
            match = (_LAST_REMARK if isinstance(question, Choice) else _REMARK).match(answer, place)
            if match is not None and not NEGATIONS & {*_words(match[0])}:
                others = [other for at, other in patterns if at.search(match[0])]
                others += [other for other, text in texts.items() if _is_part_of(match[0], text)]
                place = match.end() if {*others} <= {name} else place
        elif (match := _BETWEEN.match(answer, place)) is not None:
            place = match.end()
        elif word is not None and word[0].lower() in in_every_text:
            place = word.end()
        elif isinstance(question, Choice) and named and not any(at.search(answer, place) for at, _ in patterns):
            remark = answer[end:].strip(" ,;:")
            raise ExpressionError(f"write the name of the choice alone: leave out {quoted(remark)}")
        else:
            raise ExpressionError(_unknown_message(question, _part_at(answer, place), [*(letters or texts)]))
    if not named:
        raise ExpressionError(_unknown_message(question, answer, [*(letters or texts)]))
    return [*dict.fromkeys(named)]


def _pattern(spelled: str) -> re.Pattern[str]:
    """Return the pattern of a name or a text of a choice: in any case, with any blanks, and `-` or blanks for `_`."""
    pieces = _PIECE.findall(spelled.translate(SAME_SIGNS).replace("_", " ")) or [spelled]
    pattern = re.escape(pieces[0])
    for before, piece in itertools.pairwise(pieces):
        both_words = before[-1].isalnum() and piece[0].isalnum()
        pattern += (r"[\s_-]+" if both_words else r"\s*") + re.escape(piece)
    begin = r"(?<!\w)(?<!\d\.)" if pieces[0][0].isalnum() else ""
    return re.compile(begin + pattern + (r"(?!\w|\.\d)" if pieces[-1][-1].isalnum() else ""), re.I)


def _words(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return re.findall(r"\w+", text.lower())


def _is_part_of(remark: str, text: str, least: int = 1) -> bool:
    """Return whether a remark has at least so many words, all of which stand side by side in the text of a choice."""
    words = _words(remark)
    return (
        len(words) >= least and len(remark) >= SHORTEST_PART and f" {' '.join(words)} " in f" {' '.join(_words(text))} "
    )


def _part_at(answer: str, place: int) -> str:
    """Return the part of an answer, between commas, semicolons or line ends, in which a place is.

    Space around the part is left out.

    Args:
        answer: the answer.
        place: an index into it; for that of a separator, the part after it is returned.
    """
    return next(match[0] for match in _PART.finditer(answer) if match.end() > place).strip()


def _unknown_message(question: Choice | Choices, part: str, known: list[str]) -> str:
    """Return the message that a part of an answer is no choice, with the choice that is meant, or all of them.

    A choice is meant by a single word that is spelled almost like it, or by a part of its text.

    Args:
        question: the question.
        part: the part of the answer.
        known: the names, or the letters, that the learner may write.
    """
    texts = choice_texts(question)
    is_word = len(part) <= LONGEST_PART and " " not in part
    near = difflib.get_close_matches(part.lower(), known, 1) if is_word else []
    if not near and set(known) == set(texts):
        near = [name for name, text in texts.items() if _is_part_of(part, text)]
    if len(near) == 1:
        return f"there is no choice {quoted(part)}: did you mean {near[0]}?"
    advice = "choose from" if isinstance(question, Choice) else "write names from this list, separated by commas:"
    return f"there is no choice {quoted(part)}: {advice} {', '.join(sorted(known))}"
