"""The label of a marked operation says what the finding says: for every submission of the corpus with a mistake.

Whatever a label or a finding names is seen on the page: in the formula, in the graph or in its legend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from helpers.corpus import PAGES, WRONG

from grader.course.course import Course, CourseExercise
from grader.diagnosis.recorded_programs import faithful_program_of
from grader.judging.grading import Grader
from grader.judging.judge import Judge
from grader.rendering.exercise_summary import formula
from grader.rendering.picture_data import Graph, GraphNode
from grader.rendering.picture_making import make_pictures
from grader.sandbox.worker import Worker

# What a label may say, and what of this its finding must say then.
PROMISES = [
    ("^(not summed|summed|averaged) over", "summed over|averaged over"),
    ("^averaged", "averaged"),
    ("^not summed", "not summed|must also be summed"),
    ("reshape", "reshape"),
    ("inverse", "inverse|solved with"),
    ("without|left out", "missing|left out|margin"),
    ("-> 0$", r"\b0\b|zero"),
    ("mean -> sum", "mean|divi"),
    ("^sum( /| -> mean)", r"mean|averag|divided|\b1/\d"),
    ("^sum -> part", "only|largest|all but"),
    (r"\(-1\)", "sign|subtracted|`-`"),
    ("twice", "twice"),
    ("reversed", "revers|the wrong way round|at the opposite index"),
]
NOT_NAMES = {"a", "b"}  # of sum(a*b), and the article


def unseen_names(graph: Graph, said: str, exercise: CourseExercise, judge: Judge) -> set[str]:
    """Return the names in labels or findings that neither the formula nor the graph nor its legend shows."""
    program = faithful_program_of(exercise.function, judge.trials[0])
    values = {program.name_of(node.id) for node in program.nodes} if program is not None else set()
    named = {name for name in values if name.isidentifier() and re.search(rf"(?<![\w.]){name}(?!\w)", said)}
    labels = " ".join(node.change for node in graph.nodes.values())
    letters = {*re.findall(r"(?<![\w.])[b-hj-z]\b(?!')", labels)}  # but no article and no index
    named |= letters - {*re.findall(r"\w+", said)}
    shown = " ".join(f"{node.title} {node.shape}" for node in graph.nodes.values())
    return named - {*re.findall(r"\w+", f"{formula(exercise)} {shown} {graph.key_of_labels}")}


def changes_by_answer(node: GraphNode) -> Iterator[tuple[str, str]]:
    """Yield each label of a marked operation, with the first of the answers that it is for."""
    for line in node.change.splitlines():
        names, colon, change = line.partition(": ")
        answer = names.partition(", ")[0]
        yield (answer, change) if colon and answer in node.marked else (node.marked[0], line)


@pytest.mark.parametrize("page", sorted(name for name in PAGES if any(each.expected for each in PAGES[name])))
def test_a_label_says_what_its_finding_says(page: str, course: Course, grader: Grader, worker: Worker) -> None:
    """It names no input and no kind of mistake that the sentence of the answer does not name."""
    untrue, unseen = [], []
    for submission in PAGES[page]:
        if submission.id not in WRONG or "timeout" in str(submission.expected):
            continue
        exercise, judges = course.find(submission.exercise), list[Judge]()
        result = grader.grade(exercise, submission.source.encode(), worker, judges.append)
        graph = make_pictures(exercise, result, judges[-1]).graph if judges else None
        finding = {answer.name: answer for answer in result.answers}
        if graph is not None:
            said = " ".join(answer.message for answer in result.answers if answer.status == "failed")
            lacks = unseen_names(graph, said, exercise, judges[-1])
            unseen += [f"{submission.id}: {lacks} in the labels or {said!r}"] if lacks else []
        for node in graph.nodes.values() if graph is not None else ():
            for answer, change in changes_by_answer(node) if node.marked else ():
                mistake = finding[answer].mistake or {}
                if mistake.get("cause") or "declared" in str(mistake):
                    continue  # it has a sentence of its own, and the label of an edit with the same numbers
                said, words = finding[answer].message, {*re.findall(r"[A-Za-z_]\w*", change)}
                names = words & {*exercise.function.inputs} - NOT_NAMES
                lacks = [name for name in names if not re.search(rf"\b{name}\b", said)]
                lacks += [label for label, needs in PROMISES if re.search(label, change) and not re.search(needs, said)]
                untrue += [f"{submission.id}: {change!r} for {said!r}: {lacks}"] if lacks else []
    assert not untrue, "\n".join(untrue)
    assert not unseen, "\n".join(unseen)
