"""The making of pictures after a verdict: the learner's array, finite differences, their difference, and the graph.

The graph is the forward pass, with the nodes marked that a diagnosis or a record names. Pictures are made only on
request, and never become a part of a result.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

import numpy as np

from grader.course.course import CourseExercise
from grader.course.exercise import Answer, Declaration, Exercise
from grader.course.sampling import Array
from grader.course.shapes import Axes, axes_in_all, describe, guess_axes
from grader.course.trial_sizes import DIFFERENT_KIND
from grader.diagnosis.diagnose import find_mistakes, recorded_mistakes
from grader.diagnosis.evidence import NUDGE, shown_sample
from grader.diagnosis.mistake import Mistake
from grader.diagnosis.operators.places import operation_label
from grader.diagnosis.recorded_programs import faithful_program_of
from grader.judging.judge import Judge
from grader.program.forward import Node, Place
from grader.program.operation import NoCandidate
from grader.program.program import Program
from grader.program.queries import loop_carried_values, loops
from grader.reference.compare import ATOL_FOR_ZERO, RTOL
from grader.reference.references import detaching_matters, finite_difference_answer
from grader.reference.trial import IMPOSSIBLE, Sample, Trial, describe_options
from grader.reference.trials import first_trial, random_numbers
from grader.results.records import AnswerResult, ExerciseResult

from .figure_making import ComparedAnswer, figures, numbers_of_mistake
from .heat_maps import largest_magnitude
from .order_making import order_figure, steps_of
from .picture_data import ExercisePictures, Figure, Graph, GraphNode, Grid, Picture, Series, why_no_picture
from .picture_labels import LONGEST_CHANGE, Named, change_of, named_mistake, short_words

RIGHT = "its numbers are right, so there is nothing to draw"
YOURS, BEFORE, YOURS_ADDED = "yours", "before", "yours - before"
SHADES, NEXT_TO_NOTHING = 4, 1e-6
KEPT_BACK = (
    "This course keeps expected values back (show_expected in course.yaml): there are colours in place of numbers. "
    "++ and -- are more than half of the largest entry."
)
DROPS = frozenset(("missing-path", "missing-upstream"))
MOST_STEPS = 16  # of a graph in which nothing is folded
LONGEST_CONSTANT = 20  # characters of the source that stand for a number in the name of an operation
MEASURED = 1e-2  # how far finite differences may be off, in proportion to the largest entry, without a kink
RULE = re.compile(r"\b(?:backward rule of|what|the step) `?(\w+)")
USED_SEVERAL_TIMES = "where a value is used several times"
TAKEN_TWICE = re.compile(r"where (a step|\w+) takes the same value twice")
OF_TWO = frozenset(("add", "sub", "mul", "div", "matmul"))  # the steps that take two values
COMMANDS = frozenset(("backward", "zero_grad"))  # steps that compute no value
SEEN = 8  # trials by whose sizes the axes of the graph are named: in four, two axes may have the same size by chance
MANY_RIGHT = "More than one answer is right here, so there is no other array to compare it with."


def make_pictures(exercise: CourseExercise, result: ExerciseResult, judge: Judge) -> ExercisePictures:
    """Return the pictures of all answers that are not right, and the forward pass if any picture has arrays.

    The pictures come in the order of the answers in the result.

    Args:
        exercise: the exercise.
        result: the result of the exercise.
        judge: the judge that made the result and holds the learner's arrays.
    """
    wrong = {answer.name: answer for answer in result.answers if answer.status != "passed"}
    answers = {answer.name: answer for answer in exercise.function.answers}
    pictures = tuple(_picture_of(judge, answers[name], answer) for name, answer in wrong.items())
    drawn = [answers[picture.answer] for picture in pictures if picture.is_drawn]
    return ExercisePictures(exercise.id, pictures, _graph_of(judge, drawn, wrong) if drawn else None)


def _picture_of(judge: Judge, answer: Answer, result: AnswerResult) -> Picture:
    """Return the picture of an answer in a trial in which it is wrong, or the reason why there is none."""
    if answer.kind == "verdict":
        return _picture_of_verdicts(judge, answer, result)
    wrong = _wrong_sample(judge, answer, result)
    if wrong is None:
        are_right = bool(judge.given[answer.name].samples) and _is_given_by_every_call(judge, answer)
        return Picture(answer.name, note=RIGHT if are_right else why_no_picture(result))
    yours = wrong.in_double.given
    grids, note = _grids(judge, answer, wrong.trial, yours)
    if result.status == "todo":  # a body to mend: the message keeps the mistake back
        return Picture(answer.name, _describe_trial(wrong.trial), grids, note)
    where = _describe_trial(wrong.trial)
    if judge.is_ended_by_exception(result):
        where = f"a trial that ran to its end{'' if wrong.has_shape else ', with a wrong shape'}: {where}"
    cause = _cause_of(judge, answer)
    shapes = () if cause else _figures(judge, answer, wrong.trial, yours)
    if note == MANY_RIGHT and any(figure.kind == "order" for figure in shapes):
        grids = ()  # the same list again, as numbers in colours
    return Picture(answer.name, where, grids, note, shapes, cause)


def _is_given_by_every_call(judge: Judge, answer: Answer) -> bool:
    """Return whether every call that should give an array for an answer gave one."""
    values = judge.given[answer.name].values
    return all(value.array is not None for trial, _, value in values if trial.expected[answer.name] is not None)


def _picture_of_verdicts(judge: Judge, answer: Answer, result: AnswerResult) -> Picture:
    """Return the picture of a learner's test: the wrong backward passes that it catches, the right ones it accepts.

    If the test failed for another reason, by the result's code, the picture has only a note.
    """
    if result.code not in ("accepts-wrong", "rejects-right"):
        return Picture(answer.name, note=why_no_picture(result))
    examined = judge.examination.counted
    series = (
        Series(name, np.array([float(each.is_judged_rightly) for each in examined if each.is_wrong == is_wrong]))
        for name, is_wrong in (("wrong", True), ("right", False))
    )
    return Picture(answer.name, figures=(Figure("verdicts", "backward passes and the test", tuple(series)),))


def _cause_of(judge: Judge, answer: Answer) -> str:
    """Return the name of the answer whose mistake a wrong answer shares or follows from.

    Empty if it has its own, or none.
    """
    mistake = judge.mistakes.get(answer.name)
    if mistake is None or mistake.cause or mistake.code != "follows":
        return "" if mistake is None else mistake.cause
    return str(mistake.facts[0].parameters["answers"][0])


def _figures(judge: Judge, answer: Answer, trial: Trial, yours: np.ndarray) -> tuple[Figure, ...]:
    """Return the figures of a wrong answer in a trial.

    There are none where its shape is wrong, or the exercise accepts several answers. A figure of a wrong order is the
    only one. Where the course does not show expected values, every number is rounded to steps of the largest one, and
    no line shows what the entries should be.

    Args:
        judge: the judge of the result.
        answer: the answer.
        trial: a trial in which it is wrong.
        yours: the learner's array.
    """
    expected, before, mistake = _expected(answer, trial), trial.prior(answer), judge.mistakes.get(answer.name)
    order = order_figure(answer, judge.given[answer.name].samples, "" if mistake is None else mistake.code, trial)
    if order is not None:
        return (order,)
    if yours.shape != expected.shape or getattr(judge.exercise.function, "accepts", None) is not None:
        return ()
    right, title, _ = _reference_array(judge.exercise.function, answer, trial)
    axes = _axes_of(answer, trial, expected, judge.given[answer.name].samples)
    samples = [each.without_prior(answer) for each in judge.given[answer.name].samples if each.has_shape]
    own, yours = (YOURS, yours) if before is None else (YOURS_ADDED, yours - before)
    compared = ComparedAnswer(judge.exercise.function, answer, trial, yours, right, title, axes, samples, mistake, own)
    made = figures(compared)
    if judge.exercise.course.policy.show_expected:
        return made
    return tuple(shade_figure(figure) for figure in made)


def _wrong_sample(judge: Judge, answer: Answer, result: AnswerResult) -> Sample | None:
    """Return the sample of a wrong answer that is drawn; `None` where there is none.

    It is that of the evidence, or else of the shortest program of an engine.
    """
    wrong, declaration = judge.given[answer.name].wrong, judge.exercise.function
    if not wrong:
        return None
    mistake = judge.mistakes.get(answer.name) if result.status != "todo" else None
    shown = shown_sample(judge.exercise.id, declaration, answer, wrong, mistake)
    return shown or min(wrong, key=lambda sample: len(steps_of(sample.trial)))


def _describe_trial(trial: Trial) -> str:
    """Return a trial in words: its kind, the sizes of its axes, and its options.

    There is no kind if a trial has no sizes, as of plain numbers, or should have different ones and has not.
    """
    named = {axis: size for axis, size in trial.setting.sizes.items() if not axis.startswith("_")}
    are_different = len(set(named.values())) == len(named)
    is_shown = bool(trial.setting.sizes) and (are_different or trial.setting.kind != DIFFERENT_KIND)
    sizes, chosen = ", ".join(f"{axis}={size}" for axis, size in named.items()), describe_options(trial)
    parts = (trial.setting.kind if is_shown else "", sizes, chosen and f"where {chosen}")
    return ", ".join(filter(None, parts))


def _grids(judge: Judge, answer: Answer, trial: Trial, yours: np.ndarray) -> tuple[tuple[Grid, ...], str]:
    """Return the grids of a wrong answer in a trial, and a note on them.

    The grids are the learner's array, the right one, and their difference if the shapes are equal. Where a gradient was
    stored before, it comes first, and the others show what is added to it. Where several answers are right, there is
    only the learner's.

    Args:
        judge: the judge of the result.
        answer: the answer.
        trial: a trial in which it is wrong.
        yours: the learner's array, float64, of any shape.
    """
    expected = _expected(answer, trial)
    axes, shape = _axes_of(answer, trial, expected, judge.given[answer.name].samples), expected.shape
    own = Grid(YOURS, axes if yours.shape == shape else _axes_in_all_trials(judge, answer, yours.ndim), yours)
    if getattr(judge.exercise.function, "accepts", None) is not None:
        return (replace(own, limit=largest_magnitude(yours)),), MANY_RIGHT
    right, title, note = _reference_array(judge.exercise.function, answer, trial)
    before, first = trial.prior(answer), list[Grid]()
    if before is not None and yours.shape != shape:
        right = right + before
    elif before is not None:
        yours, expected, first = yours - before, expected - before, [Grid(BEFORE, axes, before)]
        own, note = Grid(YOURS_ADDED, axes, yours), f"{note} {BEFORE}: the {answer.name} that is added to."
    grids = [*first, own, Grid(title, axes, right)]
    if yours.shape == shape:
        with np.errstate(all="ignore"):
            off = np.where(_agree_but_for_rounding(yours, expected), 0.0, yours - right)
        grids.append(Grid(f"{own.title} - {title}", axes, off, "difference"))
    limit = largest_magnitude(*(grid.values for grid in grids))
    grids = [replace(grid, limit=limit) for grid in grids]
    if not judge.exercise.course.policy.show_expected:
        grids, note = [shade(grid) for grid in grids], f"{note} {KEPT_BACK}".strip()
    return tuple(grids), note


def _axes_in_all_trials(judge: Judge, answer: Answer, rank: int) -> Axes:
    """Return a name for each axis of a learner's arrays: of the axis that has the same size in every trial.

    A name that begins with `_` is given where no axis has.

    Args:
        judge: the judge of the result.
        answer: the answer.
        rank: the number of axes of the arrays that count.
    """
    samples = [sample for sample in judge.given[answer.name].samples if sample.given.ndim == rank]
    return axes_in_all([each.given.shape for each in samples], [each.trial.setting.sizes for each in samples])


def shade(grid: Grid) -> Grid:
    """Return a grid without its numbers: each entry becomes its sign times its magnitude in `SHADES` steps.

    An entry becomes 0 only if it is less than a millionth of the grid's limit. If the limit is 0, entries stay as they
    are, 0 or not finite.
    """
    if not grid.limit:
        return replace(grid, shaded=True)
    with np.errstate(all="ignore"):
        steps = np.ceil(SHADES * np.abs(grid.values) / grid.limit - NEXT_TO_NOTHING)
    return replace(grid, values=np.sign(grid.values) * steps, limit=float(SHADES), shaded=True)


def shade_figure(figure: Figure) -> Figure:
    """Return a figure without its numbers: each becomes its sign times its magnitude in `SHADES` steps.

    A scatter loses its lines, whose equations would tell the right entries.
    """
    shown = figure.series[:2] if figure.kind == "scatter" else figure.series
    limit = largest_magnitude(*(series.values for series in shown[figure.kind == "stamp" :]))
    grids = [shade(Grid(series.name, series.labels, series.values, limit=limit)) for series in shown]
    series = tuple(replace(own, values=grid.values) for own, grid in zip(shown, grids, strict=True))
    if figure.kind == "stamp":  # what comes in is no secret
        series = (figure.series[0], *series[1:])
    return replace(figure, series=series, shaded=True)


def _expected(answer: Answer, trial: Trial) -> np.ndarray:
    """Return the right array of an answer in a trial in which it is compared, so that it is never `None`."""
    expected = trial.expected[answer.name]
    assert expected is not None
    return expected


def _reference_array(declaration: Declaration, answer: Answer, trial: Trial) -> tuple[np.ndarray, str, str]:
    """Return the array that the learner's is compared with, its title, and a note on how it was computed.

    A gradient that was stored before is not contained in it. The title is "nudged" if the array is computed by finite
    differences, and "right" otherwise: for values, with an empty note, and for gradients that nudging does not give, as
    the forward pass detaches something that depends on the input, or has a kink at an entry.
    """
    if not isinstance(declaration, Exercise) or answer.kind == "value":
        return _expected(answer, trial), "right", ""
    expected = trial.new(answer)
    if detaching_matters(declaration, trial, answer.wrt, trial.inputs[answer.wrt].numpy() + NUDGE):
        return expected, "right", "right: with what the forward pass detaches held constant; nudging gives others."
    measured = finite_difference_answer(declaration, answer, trial)
    if not np.allclose(measured, expected, rtol=0, atol=MEASURED * np.abs(expected).max(initial=0.0)):
        return expected, "right", "right: nudging gives other numbers at a kink of the forward pass."
    return (
        np.where((expected == 0) & _agree_but_for_rounding(measured, expected), 0.0, measured),
        "nudged",
        "nudged: by finite differences, one entry nudged at a time.",
    )


def _axes_of(answer: Answer, trial: Trial, right: np.ndarray, samples: Sequence[Sample] = ()) -> Axes:
    """Return the axis names of an answer in a trial.

    The last axes are those of the input whose gradient it is; axes before these are named by their sizes. Those of a
    value are named by their sizes in every trial, and a whole number that is an argument counts as a size.

    Args:
        answer: the answer.
        trial: the trial.
        right: the right array, whose axes are named.
        samples: the answer in all trials, of which those count that have as many axes.
    """
    known = trial.axes(answer.wrt) if answer.kind != "value" and answer.wrt else None
    if known is None:
        alike = [each for each in samples if each.expected.ndim == right.ndim]
        shapes = [right.shape, *(each.expected.shape for each in alike)]
        return axes_in_all(shapes, [_sizes_of(each) for each in (trial, *(each.trial for each in alike))])
    leading = right.shape[: right.ndim - len(known)]
    return (*guess_axes(leading, trial.setting.sizes), *known)


def _sizes_of(trial: Trial) -> dict[str, int]:
    """Return the sizes of the axes of a trial, and its arguments that are whole numbers, by name."""
    numbers = {name: value for name, value in trial.arguments.items() if type(value) is int}
    return {**numbers, **trial.setting.sizes}


def _agree_but_for_rounding(yours: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return a boolean array of the shape of both: whether their entries differ by no more than rounding."""
    with np.errstate(all="ignore"):
        largest = np.abs(right).max(initial=0.0)
        near: np.ndarray = np.abs(yours - right) <= (RTOL["float32"] * largest or ATOL_FOR_ZERO["float32"])
    return near


def _graph_of(judge: Judge, answers: Sequence[Answer], results: Mapping[str, AnswerResult]) -> Graph | None:
    """Return the forward pass with the places of the diagnoses marked; `None` if the exercise has no forward pass.

    Args:
        judge: the judge of the result.
        answers: the answers that are drawn, at least one; the sizes are those of the trial in which the first is wrong.
        results: by name their results; no place is marked for an answer whose message does not name a mistake.
    """
    declaration, first = judge.exercise.function, judge.trials[0]
    wrong = _wrong_sample(judge, answers[0], results[answers[0].name])
    drawn = first if wrong is None else wrong.trial
    if not isinstance(declaration, Exercise):
        return _graph_of_steps(judge, answers, drawn)
    program, named_in = (faithful_program_of(declaration, trial) for trial in (drawn, first))
    if program is None or named_in is None:
        return None
    names = [answer.name for answer in answers if results[answer.name].status != "todo"]  # no body to mend
    placed_mistakes = _mistakes_with_places(judge, [name for name in names if results[name].mistake])
    mistakes = {name: placed_mistakes.get(name) for name in names}
    named = {name: () if mistake is None else mistake.at for name, mistake in mistakes.items()}
    has_same_nodes = [node.key for node in program.nodes] == [node.key for node in named_in.nodes]
    if any(named.values()) and not has_same_nodes:  # places would be those of other nodes
        drawn, program = first, named_in
    said = {name: Named() if mistake is None else named_mistake(mistake) for name, mistake in mistakes.items()}
    wrt = {answer.wrt: answer.name for answer in answers if answer.wrt}
    peers = [(faithful_program_of(declaration, trial), trial) for trial in judge.trials[:SEEN] if trial is not drawn]
    return graph_of(program, drawn, wrt, named, said, [(peer, trial) for peer, trial in peers if peer is not None])


def _graph_of_steps(judge: Judge, answers: Sequence[Answer], trial: Trial) -> Graph | None:
    """Return the program that a learner's engine runs in a trial, with the operations marked whose rules are wrong.

    Where the mistake is in values that are used several times, these or their uses are marked. The program is the
    argument that lists steps, such as `("mul", 0, 1)`; `None` if the trial has no such argument.

    Args:
        judge: the judge of the result.
        answers: the answers that are not right.
        trial: the trial.
    """
    steps = steps_of(trial)
    if not steps:
        return None
    given = {name: value.values for name, value in trial.arguments.items() if isinstance(value, Array)}
    single = len(given) == 1
    names = [f"{name}[{i}]" for name, values in given.items() for i in range(len(values))] if single else list(given)
    nodes = {str(i): GraphNode(str(i), name, f"value {i}") for i, name in enumerate(names)}
    sources = {answer.name: _cause_of(judge, answer) or answer.name for answer in answers}
    codes = {name: judge.mistakes[source].code if source in judge.mistakes else "" for name, source in sources.items()}
    wrong = {
        name: match[1]
        for name, source in sources.items()
        if source in judge.mistakes and (match := RULE.search(judge.mistakes[source].says))
    }
    for name, *values in steps:
        if name in COMMANDS:
            continue
        count = 0 if name == "const" else 2 if name in OF_TWO else 1  # what follows is an exponent or an axis
        operands = tuple(map(str, values[:count]))
        constants = "".join(f" {value:g}" for value in values[count:])
        key = str(len(nodes))
        marked = tuple(answer for answer, operation in wrong.items() if operation == name)
        change = _change_of_rule(judge.mistakes[sources[marked[0]]]) if marked else ""
        nodes[key] = GraphNode(key, f"{name}{constants}", f"value {key}", operands, "", marked, change=change)
    read = {operand for node in nodes.values() for operand in node.operands} | {str(len(nodes) - 1)}
    nodes = {key: node for key, node in nodes.items() if node.operands or key in read}  # without the inputs not used
    for name in sources:
        if name not in wrong and sources[name] in judge.mistakes:
            nodes = _with_repeated_uses_marked(nodes, name, judge.mistakes[sources[name]])
    unmarked = tuple(
        answer.name
        for answer in answers
        if not any(answer.name in node.marked for node in nodes.values())
        and codes[answer.name] != "wrong-order"  # which another figure shows
    )
    out = list(nodes)[-1]
    nodes[out] = replace(nodes[out], name="out")
    return Graph(nodes, out, unmarked)


def _with_repeated_uses_marked(nodes: Mapping[str, GraphNode], answer: str, mistake: Mistake) -> dict[str, GraphNode]:
    """Return nodes in which the values are marked that are used several times, if an engine's mistake is about these.

    If it is about steps that take a value twice, these steps are marked, and their second use of it. Otherwise nothing
    is.

    Args:
        nodes: the steps of the program, and its inputs, by key.
        answer: the name of the answer.
        mistake: the mistake in the answer.
    """
    changed, label = dict(nodes), change_of(mistake.code)
    if mistake.says.startswith(USED_SEVERAL_TIMES):
        uses = Counter(source for node in nodes.values() for source in node.operands)
        for key, node in nodes.items():
            edges = frozenset(i for i, source in enumerate(node.operands) if uses[source] > 1)
            changed[key] = replace(node, edges=node.edges | edges)
            if uses[key] > 1:
                marked = (*node.marked, answer)
                changed[key] = replace(changed[key], answer=answer, marked=marked, change=node.change or label)
    elif (step := TAKEN_TWICE.match(mistake.says)) is not None:
        for key, node in nodes.items():
            again = frozenset(i for i, source in enumerate(node.operands) if source in node.operands[:i])
            if again and step[1] in ("a step", node.label.partition(" ")[0]):
                marked = (*node.marked, answer)
                changed[key] = replace(node, marked=marked, edges=again, dropped=again, change=node.change or label)
    return changed


def _change_of_rule(mistake: Mistake) -> str:
    """Return the label of a step whose backward rule is wrong.

    It is what follows the colon of the diagnosis's clause, if that has at most `LONGEST_CHANGE` characters; else the
    words of the diagnosis's code.
    """
    clause = short_words(mistake.says.partition(": ")[2])
    return clause if 0 < len(clause) <= LONGEST_CHANGE else change_of(mistake.code)


def _mistakes_with_places(judge: Judge, names: Sequence[str]) -> dict[str, Mistake]:
    """Return by name of the answer the mistakes in some answers, with their places in the forward pass.

    A declared misconception has no places. If an edit of the forward pass gives the numbers of all answers that share
    it, and has the same code, that edit is returned in its stead. An answer without a mistake is missing.

    Args:
        judge: the judge of the result.
        names: the names of the answers.
    """
    mistakes = {name: judge.mistakes[name] for name in names if name in judge.mistakes}
    if not judge.exercise.function.misconceptions:
        return mistakes
    declaration, shared = replace(judge.exercise.function, misconceptions=()), dict[str, list[str]]()
    for name, mistake in mistakes.items():
        if not mistake.at:
            shared.setdefault(mistake.cause or name, []).append(name)
    for group in shared.values():
        samples = {name: judge.given[name].to_explain for name in group}
        others = find_mistakes(declaration, samples, source=judge.answer_source)
        if all(others[name].code == mistakes[name].code for name in group):
            mistakes |= others
    return mistakes


def graph_of(
    program: Program,
    trial: Trial,
    answers: Mapping[str, str],
    places: Mapping[str, Sequence[Place]],
    mistakes: Mapping[str, Named],
    peers: Sequence[tuple[Program, Trial]] = (),
) -> Graph:
    """Return the graph of all nodes that the output is computed from; of a loop, the nodes of its last iteration alone.

    Where it has over `MOST_STEPS` operations, a function's calls but one, and chains of operations, are a node each.

    Args:
        program: the forward pass, recorded in the trial.
        trial: the trial whose sizes are shown.
        answers: by input or step, the name of the drawn answer that is its gradient.
        places: by answer, the places in the program that its diagnosis names.
        mistakes: by answer, the code and the message fields of its mistake.
        peers: the same forward pass in trials of other sizes, which tell apart axes that have one size by chance.
    """
    out = program.forward.outputs[-1]
    read = {out}  # with the numbers that no gradient flows to, such as a slope that is an argument
    for node in reversed(program.nodes):
        read |= {operand for _, operand in node.operands} if node.id in read else set()
    shown = [node for node in program.nodes if node.id in read]
    names = {i: name for name, i in program.inputs.items()}
    folded = _folded_iterations(program)
    keys = {node.id: names.get(node.id, f"%{folded.get(node.id, node.id)}") for node in shown}
    answered = {i: answers[name] for name, i in program.forward.targets.items() if name in answers}
    partners = {answer: mistakes[answer].exchanged_values(program) if own else {} for answer, own in places.items()}
    nodes: dict[str, GraphNode] = {}
    for node in shown:
        if folded.get(node.id, node.id) != node.id:
            continue
        same = {node.id} | {i for i, last in folded.items() if last == node.id}
        slots: dict[tuple[str, int], list[int]] = {}  # of each edge, by the key of the operand and how often it came
        taken: list[int] = []
        for slot, operand in node.operands:
            key = keys[operand]
            if (before := _value_before(program, folded, node, operand)) is not None:
                key = f"{keys[operand]} before"
                sources = (keys[before],) if before in keys else ()
                label = program.name_of(operand).strip("`")
                nodes[key] = GraphNode(key, label, "of the step before", sources)
            slots.setdefault((key, taken.count(operand)), []).append(slot)
            taken.append(operand)
        edges = [
            {answer for answer, own in places.items() for place in own if place[0] in same and place[1] in edge}
            for edge in slots.values()
        ]
        marked = tuple(
            answer
            for answer, own in places.items()
            if any(place[0] in same for place in own) or not same.isdisjoint(partners[answer])
        )
        named = frozenset(i for i, by in enumerate(edges) if by)
        times = f" ({len(same)}x)" if len(same) > 1 else ""
        nodes[keys[node.id]] = GraphNode(
            keys[node.id],
            names.get(node.id) or f"{operation_label(node, _constants_in_source(program, node))}{times}",
            _shape(program, node, names.get(node.id, ""), trial, peers),
            tuple(key for key, _ in slots),
            answered.get(node.id, ""),
            marked,
            named,
            frozenset(i for i in named if any(mistakes[by].code in DROPS for by in edges[i])),
            _joined_changes({by: _change_at(program, mistakes[by], places[by], partners[by], same) for by in marked}),
            _name_of_result(program, node, out),
        )
    nodes = _with_dropped_steps(nodes, mistakes)
    if sum(bool(node.operands) for node in nodes.values()) > MOST_STEPS:
        calls = {keys[node.id]: node.call for node in shown if node.call and keys[node.id] in nodes}
        nodes = _with_chains_folded(_with_calls_folded(nodes, calls), keys[out])
    marked_answers = {answer for node in nodes.values() for answer in node.marked}
    is_single = sum(bool(node.operands) for node in nodes.values()) == 1  # then there is no other to look at
    unmarked = () if is_single else tuple(answer for answer in places if answer not in marked_answers)
    return Graph(nodes, keys[out], unmarked)


def _name_of_result(program: Program, node: Node, out: int) -> str:
    """Return what a learner calls the result of an operation; empty for an input, and where it has no name.

    Args:
        program: the forward pass.
        node: an operation of it, or an input.
        out: the id of the output, which is called "out" or "loss" where the exercise gives it no name.
    """
    if node.id in program.inputs.values():
        return ""
    name = program.name_of(node.id)
    if node.id == out and not name.isidentifier():
        return "loss" if name == "the loss" else "out"
    return name if name.isidentifier() else ""


def _change_at(
    program: Program, mistake: Named, places: Sequence[Place], partners: Mapping[int, str], nodes: Container[int]
) -> str:
    """Return the label of a mistake at its first place that is in one of some nodes; empty if there is no short label.

    Args:
        program: the forward pass.
        mistake: the code and the message fields of the mistake.
        places: all places of the mistake.
        partners: by id of a value that is exchanged with that of a place, its label.
        nodes: the ids of the nodes, among which is at least one of the places or the partners.
    """
    place = next((place for place in places if place[0] in nodes), None)
    if place is None:
        return next(label for partner, label in partners.items() if partner in nodes)
    return mistake.change_at(program, places, place)


def _joined_changes(changes: Mapping[str, str]) -> str:
    """Return the label of a node from the labels of the mistakes of several answers in it; see `GraphNode.change`.

    Args:
        changes: by answer, the label of its mistake, which may be empty.
    """
    answers: dict[str, list[str]] = {}
    for answer, change in changes.items():
        answers.setdefault(change, []).append(answer)
    if len(answers) < 2:
        return next(iter(answers), "")
    return "\n".join(f"{', '.join(names)}: {change}" for change, names in answers.items() if change)


def _with_dropped_steps(nodes: Mapping[str, GraphNode], mistakes: Mapping[str, Named]) -> dict[str, GraphNode]:
    """Return nodes in which a loop's edges from a value to itself in the iteration before are marked as dropped.

    That is done for each marked value no edge of which is named, if its mistake is lost between iterations.

    Args:
        nodes: the nodes of the graph by key.
        mistakes: by answer, the code and the message fields of its mistake.
    """
    lost = {
        f"{key} before"
        for key, node in nodes.items()
        if node.marked and not node.edges and mistakes[node.marked[0]].is_lost_between_iterations
    }
    return {
        key: replace(node, edges=node.edges | own, dropped=node.dropped | own)
        for key, node in nodes.items()
        for own in [{i for i, operand in enumerate(node.operands) if operand in lost}]
    }


def _with_calls_folded(nodes: Mapping[str, GraphNode], calls: Mapping[str, str]) -> dict[str, GraphNode]:
    """Return nodes in which one of several calls of a function is drawn in full, and each other as one node.

    The one in full is the first that contains a marked node, one that a mistake is about, or else the first of all. A
    call of a single step stays as it is.

    Args:
        nodes: the nodes of the graph by key.
        calls: by key the call of the author's function that a step stands in, such as `norm(x)`, where there is one.
    """
    members: dict[str, list[str]] = {}
    for key, call in calls.items():
        members.setdefault(call, []).append(key)
    by_function: dict[str, list[str]] = {}
    for call in members:
        by_function.setdefault(call.partition("(")[0], []).append(call)
    folded = dict(nodes)
    for alike in by_function.values():
        full = next((call for call in alike if any(nodes[key].marked for key in members[call])), alike[0])
        for call in alike:
            if call != full and len(members[call]) > 1:
                is_private = call.startswith("_")  # a spec's own function, which no learner has seen
                label = _label_of_chain(nodes, members[call]) if is_private else call
                folded = _with_group_folded(folded, members[call], label)
    return folded


def _with_chains_folded(nodes: Mapping[str, GraphNode], out: str) -> dict[str, GraphNode]:
    """Return nodes in which each chain of steps is one node, so that a long graph fits a page.

    A chain has two steps or more, of one operand each, that are not marked and whose gradient is no answer, and each of
    its steps is the only reader of the one before. The node stands at the place of the last of them, and has its key.

    Args:
        nodes: the nodes of the graph by key.
        out: the key of the output, which stays as it is.
    """
    users: dict[str, list[str]] = {key: [] for key in nodes}
    for node in nodes.values():
        for source in dict.fromkeys(node.operands):
            users[source].append(node.key)

    def is_plain(key: str) -> bool:
        """Return whether a step of one operand may be a part of a chain."""
        node = nodes[key]
        return len({*node.operands}) == 1 and not node.marked and not node.answer and not node.edges and key != out

    folded, used = dict(nodes), set[str]()
    for key in nodes:
        chain = [key]
        while is_plain(chain[-1]) and len(users[chain[-1]]) == 1 and is_plain(users[chain[-1]][0]):
            chain.append(users[chain[-1]][0])
        if len(chain) > 1 and used.isdisjoint(chain):
            used.update(chain)
            folded = _with_group_folded(folded, chain, _label_of_chain(nodes, chain))
    return folded


def _label_of_chain(nodes: Mapping[str, GraphNode], chain: Sequence[str]) -> str:
    """Return the label of several steps that are one node: the first and the last of them, such as `** 2 .. sqrt`.

    Args:
        nodes: the nodes of the graph by key.
        chain: the keys of the steps, in the order of the forward pass; one may be several steps already.
    """
    first, last = (nodes[key].label.split(" .. ") for key in (chain[0], chain[-1]))
    return f"{first[0]} .. {last[-1]}"


def _with_group_folded(nodes: Mapping[str, GraphNode], group: Sequence[str], label: str) -> dict[str, GraphNode]:
    """Return nodes in which several steps are one node, at the place of the last of them.

    Unchanged if a node outside reads any of them but the last, or the gradient of one of them is an answer. The node
    reads whatever the steps read outside, is marked for the answers of all of them, and shows the first change of any.

    Args:
        nodes: the nodes of the graph by key.
        group: the keys of the steps, in the order of the forward pass.
        label: the label of their node, which has the key and the shape of the last of them.
    """
    steps, last = [nodes[key] for key in group], nodes[group[-1]]
    read = {source for node in nodes.values() if node.key not in group for source in node.operands}
    if not read.isdisjoint(group[:-1]) or any(step.answer for step in steps):
        return dict(nodes)
    operands = tuple(dict.fromkeys(s for step in steps for s in step.operands if s not in group))
    index = {key: i for i, key in enumerate(operands)}

    def edges_from_outside(edges: Callable[[GraphNode], frozenset[int]]) -> frozenset[int]:
        """Return the indices in `operands` of some edges of the steps, without those between two steps."""
        sources = (step.operands[i] for step in steps for i in edges(step))
        return frozenset(index[source] for source in sources if source in index)

    one = replace(
        last,
        label=label,
        operands=operands,
        marked=tuple(dict.fromkeys(answer for step in steps for answer in step.marked)),
        edges=edges_from_outside(lambda step: step.edges),
        dropped=edges_from_outside(lambda step: step.dropped),
        change=next((step.change for step in steps if step.change), ""),
    )
    return {key: one if key == last.key else node for key, node in nodes.items() if key == last.key or key not in group}


def _constants_in_source(program: Program, node: Node) -> dict[int, str]:
    """Return, by its slot, a node's constant operand as the source writes it, if not as a number: `{1: "2**0.5"}`.

    Empty if there is none, or the node is not a binary expression whose other operand is recognised by its expression
    or name.
    """
    slots = dict(node.operands)
    if len(node.values) != 2 or len(slots) != 1 or not node.text:
        return {}
    source = node.text.strip()
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        return {}
    if not isinstance(tree, ast.BinOp):
        return {}
    ((slot, operand),) = slots.items()
    known = {program.name_of(operand).strip("`"), program.nodes[operand].text, program.nodes[operand].variable}
    known |= {_as_unparsed(text) for text in known if text}
    constant = tree.right if ast.unparse(tree.left) in known else tree.left
    is_known = constant is tree.right or ast.unparse(tree.right) in known
    segment = (is_known and ast.get_source_segment(source, constant)) or ""
    text = " ".join(segment.split()).removeprefix("math.").removeprefix("torch.")
    if isinstance(constant, (ast.BinOp, ast.Compare, ast.BoolOp)) and not isinstance(
        getattr(constant, "op", None), ast.Pow
    ):
        text = f"({text})"
    is_shown = bool(text) and any(isinstance(part, (ast.Name, ast.BinOp)) for part in ast.walk(ast.parse(text)))
    return {1 - slot: text} if is_shown and len(text) <= LONGEST_CONSTANT else {}


def _as_unparsed(text: str) -> str:
    """Return an expression with the spaces and brackets that `ast.unparse` writes; unchanged if it is none."""
    try:
        return ast.unparse(ast.parse(text.strip(), mode="eval"))
    except (SyntaxError, ValueError):
        return text


def _folded_iterations(program: Program) -> dict[int, int]:
    """Return, for each node of a loop, the id of its node in the last iteration; rows that a loop reads count too.

    Returns:
        The ids by the id of the node in any iteration; empty if no loop has a loop-carried value.
    """
    keys = {key for loop in loops(program) if loop.carried for key in loop.keys}
    if not keys:
        return {}
    repeated = (ids for ids in program.forward.by_key.values() if len(ids) > 1)
    return {i: ids[-1] for ids in repeated for i in ids if program.nodes[i].operation.family != "input"}


def _value_before(program: Program, folded: Mapping[int, int], node: Node, operand: int) -> int | None:
    """Return the id of the value that a loop-carried operand had before the first iteration.

    Args:
        program: the forward pass.
        folded: for each node of a loop the id of its node in the last iteration.
        node: a node.
        operand: the id of one of its operands.

    Returns:
        The id; `operand` itself if the loop starts from a constant; `None` unless `node` is of the last iteration, and
        `operand` is a loop-carried value of the iteration before it.
    """
    if folded.get(node.id) != node.id or operand not in folded or folded[operand] == operand:
        return None
    for carried in loop_carried_values(program):
        if operand in carried.made and carried.key == node.key:
            return operand if carried.initial is None else carried.initial
    return None


def _shape(program: Program, node: Node, name: str, trial: Trial, peers: Sequence[tuple[Program, Trial]]) -> str:
    """Return the shape of a node's value as text.

    The axes are named as those of the argument `name`, or each like the only axis that has its size in every trial.

    Args:
        program: the forward pass.
        node: a node of it.
        name: the name of the argument that it is; empty if it is none.
        trial: the trial of the forward pass.
        peers: the same forward pass in trials of other sizes.
    """
    if name and (axes := trial.axes(name)):
        return describe(node.value.shape, axes)
    shape = node.value.shape
    seen = [(shape, trial.setting.sizes)]
    same = program.forward.by_key[node.key]
    for peer, other in peers:
        ids = peer.forward.by_key.get(node.key, ())
        value = peer.nodes[ids[min(same.index(node.id), len(ids) - 1)]].value if ids else None
        if value is not None and value.ndim == len(shape):
            seen.append((value.shape, other.setting.sizes))
    return describe(shape, axes_in_all([each for each, _ in seen], [sizes for _, sizes in seen]))


class RecordedMistakes:
    """A drawer of records' mistakes from the course alone, without learner code; it reuses trials between records."""

    def __init__(self) -> None:
        """Begin with no trial and no picture cached."""
        self._trials: dict[tuple[str, int], Trial] = {}
        self._pictures: dict[tuple[str, int, str, str], Picture] = {}

    def pictures(self, exercise: CourseExercise, result: ExerciseResult, seed: int) -> ExercisePictures:
        """Return the graph of a result's mistakes, and the figures of those that can be computed from the record.

        The answers come in the order of the result; one whose mistake only follows from another's has no figures.

        The numbers in the figures are computed from the right program with the recorded edit, in the first trial:
        without the rounding of the learner's code, and for one trial alone.

        Args:
            exercise: the exercise of the course.
            result: the exercise's result in a record.
            seed: the seed of the record.
        """
        graph = self.graph(exercise, result, seed)
        drawn = [
            self._picture(exercise, exercise.function, answer, seed)
            for answer in result.answers
            if answer.mistake and not answer.mistake.get("cause") and isinstance(exercise.function, Exercise)
        ]
        return ExercisePictures(exercise.id, tuple(picture for picture in drawn if picture.figures), graph)

    def _picture(self, exercise: CourseExercise, declaration: Exercise, result: AnswerResult, seed: int) -> Picture:
        """Return the figures of an answer's recorded mistake; a picture without figures if they cannot be computed.

        It is made once, and cached.

        Args:
            exercise: the exercise of the course.
            declaration: the declaration of the exercise.
            result: the answer's result in a record.
            seed: the seed of the record, from which the first trial follows.
        """
        key = exercise.id, seed, result.name, json.dumps([result.code, result.message, result.mistake], sort_keys=True)
        if key not in self._pictures:
            self._pictures[key] = Picture(result.name)
            try:
                trial = self._first_trial(exercise, declaration, seed)
                made = _recorded_figures(declaration, result, trial)
            except (*IMPOSSIBLE, NoCandidate):
                return self._pictures[key]
            if not exercise.course.policy.show_expected:
                made = tuple(map(shade_figure, made))
            self._pictures[key] = Picture(result.name, _describe_trial(trial), figures=made)
        return self._pictures[key]

    def graph(self, exercise: CourseExercise, result: ExerciseResult, seed: int) -> Graph | None:
        """Return the forward pass with the places of a result's mistakes marked.

        Args:
            exercise: the exercise of the course.
            result: the exercise's result in a record.
            seed: the seed of the record, from which the sizes of the first trial follow.

        Returns:
            `None` where no mistake has a place, or the exercise has no forward pass to draw.
        """
        wrong = [answer for answer in result.answers if answer.mistake]
        if not wrong or exercise.is_quiz or not isinstance(exercise.function, Exercise):
            return None
        try:
            trial = self._first_trial(exercise, exercise.function, seed)
        except IMPOSSIBLE:
            return None
        program = faithful_program_of(exercise.function, trial)
        if program is None:
            return None
        named = {answer.name: _recorded_places(answer) for answer in wrong}
        marked = {name: places for name, places in named.items() if places}
        wrt = {answer.wrt: answer.name for answer in exercise.function.answers if answer.wrt and answer.name in marked}
        said = {answer.name: _recorded_mistake(answer) for answer in wrong if answer.name in marked}
        peers = self._peers(exercise, exercise.function, seed) if marked else []
        return graph_of(program, trial, wrt, marked, said, peers) if marked else None

    def _peers(self, exercise: CourseExercise, declaration: Exercise, seed: int) -> list[tuple[Program, Trial]]:
        """Return the forward pass in the first trials of the `SEEN - 1` seeds after `seed`, each with its trial.

        Trials whose forward pass cannot be recorded are left out; empty if one of the trials cannot be drawn.

        Args:
            exercise: the exercise of the course, by whose id trials are cached.
            declaration: the same exercise, as trials are drawn from it.
            seed: the seed of the record.
        """
        try:
            others = [self._first_trial(exercise, declaration, seed + i) for i in range(1, SEEN)]
        except IMPOSSIBLE:
            return []
        programs = [(faithful_program_of(declaration, other), other) for other in others]
        return [(program, other) for program, other in programs if program is not None]

    def _first_trial(self, exercise: CourseExercise, declaration: Exercise, seed: int) -> Trial:
        """Return the first trial that an exercise has with this seed; it is drawn once, and cached."""
        key = exercise.id, seed
        if key not in self._trials:
            self._trials[key] = first_trial(declaration, random_numbers(seed, exercise.id))
        return self._trials[key]


@np.errstate(all="ignore")  # an edit may divide by 0
def _recorded_figures(declaration: Exercise, result: AnswerResult, trial: Trial) -> tuple[Figure, ...]:
    """Return the figures of the mistake in the record of an answer, computed in a trial.

    There are none if the numbers of the mistake cannot be computed, or are not wrong in this trial. The first of
    `recorded_mistakes` that gives such numbers counts.
    """
    answer = next((each for each in declaration.answers if each.name == result.name), None)
    if answer is None or trial.expected[answer.name] is None:
        return ()
    right = trial.new(answer)
    for mistake in recorded_mistakes(declaration, result, trial):
        try:
            yours = numbers_of_mistake(declaration, answer, trial, mistake)
        except (*IMPOSSIBLE, NoCandidate):
            continue
        if yours is None or yours.shape != right.shape or np.allclose(yours, right, rtol=RTOL["float32"]):
            continue
        nudged, title, _ = _reference_array(declaration, answer, trial)
        own, axes = YOURS if trial.prior(answer) is None else YOURS_ADDED, _axes_of(answer, trial, right)
        samples = [Sample(trial, yours, right)]
        return figures(ComparedAnswer(declaration, answer, trial, yours, nudged, title, axes, samples, mistake, own))
    return ()


def _recorded_mistake(answer: AnswerResult) -> Named:
    """Return the code of an answer's mistake from its record, with the operator and message fields of each edit."""
    edits = (answer.mistake or {}).get("edits", ())
    return Named(answer.code or "", tuple((edit.get("operator", ""), edit.get("parameters", {})) for edit in edits))


def _recorded_places(answer: AnswerResult) -> tuple[Place, ...]:
    """Return the places of an answer's mistake from its record; empty for a record that has none."""
    places = (answer.mistake or {}).get("at", ())
    return tuple((place[0], place[1]) for place in places if len(place) == 2)
