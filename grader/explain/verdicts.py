"""The verdict on each gradient: the first check that it fails, in the order of the course's own judge.

A function with a forward pass of its own has a few more: its output, what it keeps between its passes, and which
gradients it computes when not all are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import torch

from grader.course.exercise import Answer, Exercise
from grader.course.shapes import describe
from grader.diagnosis.case import LARGE, Case
from grader.diagnosis.diagnose import WORK_AGAIN, find_mistakes
from grader.diagnosis.evidence import evidence_of
from grader.diagnosis.factors import FACTOR_NUMBER, common_ratio, number_text
from grader.diagnosis.facts import plain_facts
from grader.diagnosis.mistake import Mistake
from grader.diagnosis.operators.places import describe_places
from grader.diagnosis.recorded_programs import faithful_program_of, program_of
from grader.diagnosis.search import MOST_WORK
from grader.diagnosis.words import list_in_words, with_words
from grader.errors import describe_error
from grader.reference import finite_differences
from grader.reference.compare import scaled_error
from grader.reference.kinks import Comparison, wrong_shares
from grader.reference.references import autograd_answer, autograd_answers, loss_of
from grader.reference.trial import IMPOSSIBLE, Sample, Trial, sample_of

from .code_under_test import LAYOUTS, CallReport, Code, CodeCall, read_as_contiguous
from .forward_pass import is_floating, join_outputs
from .trials import CodeTrial, clearness

SAME, MISREAD = 1e-5, 1e-4
CURVED = 0.01  # how far, in proportion, the right gradients beside an input differ by curvature alone
SHARES = (
    "equal entries may share the upstream gradient, but their parts must add up to it: those of {at} and its equals do "
    "not"
)
NEEDS_NONE = "if it needs no gradient, give the inputs that do requires_grad=True"


@dataclass(frozen=True)
class Finding:
    """The verdict on one gradient.

    Args:
        answer: the input that it is the gradient of; "out" for the output of a function.
        status: "error" where it could not be judged.
        code: the public code of the mistake, from `grader.results.codes`; empty unless it failed.
        says: a clause about this gradient; empty if it passed.
        place: the operations of `forward` that the mistake is made at; empty where it is about none.
        evidence: how far one nudge of the worst entry moves the loss; may be empty.
        mistake: the mistake with its facts, for programs; `None` where the numbers gave none away.
    """

    answer: str
    status: Literal["passed", "failed", "error"]
    code: str = ""
    says: str = ""
    place: str = ""
    evidence: str = ""
    mistake: Mistake | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """Compare what the code under test did in one trial with what is right.

    Args:
        code_trial: the trial, with the call of the code and the gradients that count as right.
        report: what the code returned or raised in this call.
    """

    code_trial: CodeTrial
    report: CallReport

    @property
    def trial(self) -> Trial:
        """Return the trial, with its inputs, upstream gradient and right gradients in float64."""
        return self.code_trial.trial

    def array(self, answer: Answer) -> np.ndarray | None:
        """Return the answer as float64, or `None` if it is not a real tensor with finite entries.

        An answer `None` that the code gave counts as zeros, and entries that cannot be judged are 0.
        """
        value = self.report.gradients.get(answer.name)
        if value is None and answer.name in self.report.gradients:
            return np.zeros(self.trial.inputs[answer.name].shape)
        if not isinstance(value, torch.Tensor) or value.is_complex():
            return None
        array = value.detach().double().numpy()
        if array.shape == self.right(answer).shape and (unjudged := self.unjudged(answer)).any():
            array = np.where(unjudged, 0.0, array)
        return array if np.isfinite(array).all() else None

    def unjudged(self, answer: Answer) -> np.ndarray:
        """Return a mask, True for each entry for which there is no gradient to compare with; shaped like the input."""
        return np.asarray(~np.isfinite(self.code_trial.allowed[answer.name].expected))

    def right(self, answer: Answer) -> np.ndarray:
        """Return the right gradient, shaped like the input; 0 at the entries for which it is not known."""
        right = self.trial.expected[answer.name]
        assert right is not None
        return right

    def is_wrong(self, answer: Answer) -> bool:
        """Return whether an answer's shape is wrong, or its numbers are, but for rounding and other choices at a kink.

        False where `array` returns `None`.
        """

        def compare() -> bool:
            """Compare the numbers."""
            array = self.array(answer)
            if array is None or array.shape != self.right(answer).shape:
                return array is not None
            return bool(self.compared(answer).wrong.any())

        return bool(self.trial.remember(("wrong", answer.name), compare))

    def with_torchs_choices(self, answer: Answer) -> np.ndarray | None:
        """Return the answer as float64, with torch's value at each kink where the code has another right value.

        An array of a wrong shape is unchanged; `None` where `array` returns `None`.
        """
        array = self.array(answer)
        if array is None or array.shape != self.right(answer).shape:
            return array
        return np.where(self.compared(answer).convention, self.right(answer), array)

    def has_choices(self, answer: Answer) -> bool:
        """Return whether the answer is an array that has another right value than torch's at some kink."""
        array = self.array(answer)
        has_shape = array is not None and array.shape == self.right(answer).shape
        return has_shape and bool(self.compared(answer).convention.any())

    def with_conventions(self, answer: Answer) -> np.ndarray:
        """Return the right gradient, but with the answer's own value at each kink where that is right as well.

        The answer must be an array of the right shape.
        """
        array = self.array(answer)
        assert array is not None
        return np.where(self.compared(answer).convention, array, self.right(answer))

    def compared(self, answer: Answer) -> Comparison:
        """Return the comparison of the answer, an array of the right shape, with the gradients that count as right."""
        array = self.array(answer)
        assert array is not None
        return self.trial.remember(  # type: ignore[no-any-return]
            ("compared", answer.name),
            lambda: self.code_trial.allowed[answer.name].compare(array, self.code_trial.bounds[answer.name]),
        )

    def fails(self, answer: Answer) -> bool:
        """Return whether the code raised, or the answer is wrong or no array."""
        return bool(self.report.error) or self.array(answer) is None or self.is_wrong(answer)

    @property
    def layout(self) -> str:
        """Return one of `LAYOUTS`, a phrase on how the upstream gradient lies in memory; empty if it is contiguous."""
        return LAYOUTS.get(self.trial.setting.kind, "")


@dataclass(frozen=True)
class _Search:
    """The outcome of a search for the mistake in one answer.

    Args:
        trial: the first trial that it was looked for in.
        mistake: the mistake, which may be of the code "unknown".
        error: the error that ended the search; empty where it came to its end.
    """

    trial: Trial
    mistake: Mistake
    error: str = ""


@dataclass(frozen=True)
class Verdicts:
    """Judge what the code under test did in every trial.

    Args:
        exercise: the forward pass, with an answer for each gradient that is judged.
        code: the code under test.
        runs: the runs that count, with the given sizes.
        others: the runs with sizes or tables (see `Drawing.tables`) that nobody gave; they help to identify a mistake.
        twice: the reports of two equal calls.
        measured: whether the right gradients are measured, so that torch's own prove nothing.
    """

    exercise: Exercise
    code: Code
    runs: Sequence[Run]
    others: Sequence[Run]
    twice: tuple[CallReport, CallReport]
    measured: bool = False

    def finding_of(self, answer: Answer) -> Finding:
        """Return the verdict on an answer: the first check that it fails, or that it is right."""
        mistake = self._diagnose_structure(answer) or self._diagnose_shape(answer) or self._diagnose_use(answer)
        if mistake is None and not any(run.is_wrong(answer) for run in self.runs):
            if self._raised_by_layout is None:
                return Finding(answer.name, "passed")
            return self._failed(answer, self._raised_by_layout)
        mistake = (
            mistake or self._diagnose_layout(answer) or self._diagnose_kink(answer) or self._diagnose_numbers(answer)
        )
        return self._failed(answer, mistake)

    def _diagnose_numbers(self, answer: Answer) -> Mistake:
        """Return the mistake in an answer with wrong numbers that the search finds.

        If that mistake is at no place in the forward pass, and the numbers are right for one input of an earlier call,
        return instead that this input of the earlier call was used.
        """
        searched = self._mistakes[answer.name].mistake
        return searched if searched.at else self._diagnose_stale_input(answer) or searched

    def _failed(self, answer: Answer, mistake: Mistake) -> Finding:
        """Return the verdict that an answer fails with a mistake, with the place of the mistake and its evidence."""
        place = self._places_of_mistake(answer) if mistake.facts else ""
        evidence = self._evidence_of_nudge(answer, mistake)
        explained = mistake if mistake.facts else None
        return Finding(answer.name, "failed", mistake.code, mistake.says, place, evidence, explained)

    @cached_property
    def shown_run(self) -> Run:
        """Return the run whose shapes and values the findings name.

        If a gradient is wrong, it is the informative run with the most wrong gradients, else the first run.
        """
        wrong = any(run.is_wrong(answer) for run in self.runs for answer in self.exercise.answers)
        return self.informative_runs[0] if wrong else self.runs[0]

    @cached_property
    def informative_runs(self) -> list[Run]:
        """Return the runs in which mistakes are looked for, those with most wrong answers first.

        Their upstream gradients are contiguous, and the code did not raise; if there is no such run, all count.

        Left out are runs with sizes that nobody gave in which an array has a wrong shape, or a gradient is wrong that
        is right with the given sizes: the code is for the given sizes.
        """
        has_shapes = all(map(self._has_shapes, self.runs))
        right = [answer for answer in self.exercise.answers if not any(run.is_wrong(answer) for run in self.runs)]
        others = [
            run
            for run in self.others
            if (self._has_shapes(run) or not has_shapes) and not any(run.is_wrong(answer) for answer in right)
        ]
        plain = [run for run in (*self.runs, *others) if not run.layout and not run.report.error]
        wrong = {id(run): sum(run.is_wrong(answer) for answer in self.exercise.answers) for run in plain}
        return sorted(plain or self.runs, key=lambda run: (-wrong.get(id(run), 0), clearness(run.code_trial)))

    def _has_shapes(self, run: Run) -> bool:
        """Return whether every array that the code gave in a run has the right shape."""
        arrays = ((run.array(answer), run.right(answer)) for answer in self.exercise.answers)
        return all(array is None or array.shape == right.shape for array, right in arrays)

    @property
    def untraced(self) -> bool:
        """Return whether a mistake was looked for, and the forward pass not recorded with the right gradients."""
        return any(faithful_program_of(self.exercise, search.trial) is None for search in self._mistakes.values())

    @property
    def has_branches(self) -> bool:
        """Return whether a mistake was looked for, and forward runs other lines in some trials than in others."""
        return bool(self._mistakes) and len({self._operations(run) for run in self.informative_runs}) > 1

    @property
    def search_errors(self) -> dict[str, str]:
        """Return, by answer, the error that ended the search for its mistake, so that only a plain fact is known."""
        return {name: search.error for name, search in self._mistakes.items() if search.error}

    # --- before any number is compared -------------------------------------------------------------------------------

    def _diagnose_structure(self, answer: Answer) -> Mistake | None:
        """Diagnose code that raises, or returns no tensor for a gradient that is not 0; `None` if it does neither."""
        for run in self.runs:
            if run.report.error and run.layout:
                continue  # `_raised_by_layout` reports it if nothing else is wrong
            if run.report.error:
                return Mistake("error", f"{self.code.name} raises {run.report.error}")
            if answer.name not in run.report.gradients:
                return Mistake("missing-answer", f"{self.code.name} returns no gradient for {answer.name}")
            value = run.report.gradients[answer.name]
            if value is None and run.right(answer).any():
                return Mistake("missing-answer", f"it is None, and the output depends on {answer.name}; {NEEDS_NONE}")
            if value is not None and not isinstance(value, torch.Tensor):
                return Mistake("wrong-type", f"it is of type {type(value).__name__}, not a tensor")
        return None

    def _diagnose_shape(self, answer: Answer) -> Mistake | None:
        """Diagnose a wrong shape, else a wrong dtype, else entries that are not finite; `None` if there is none."""
        for run in self.runs:
            value, owner = run.report.gradients.get(answer.name), run.code_trial.call.inputs[answer.name]
            if value is None:
                continue
            if value.shape != owner.shape:
                return self._wrong_shape(answer, value, run.trial)
            if value.dtype != owner.dtype:
                given, expected = (str(tensor.dtype).removeprefix("torch.") for tensor in (value, owner))
                return Mistake("wrong-dtype", f"its dtype is {given}; it should be that of {answer.name}, {expected}")
            if count := int((~torch.isfinite(value) & ~torch.from_numpy(run.unjudged(answer))).sum()):
                return Mistake("not-finite", f"{count} of {value.numel()} entries are inf or nan")
        return None

    def _wrong_shape(self, answer: Answer, value: torch.Tensor, trial: Trial) -> Mistake:
        """Return the mistake that gives an answer its wrong shape if it is known, else one that names the shape.

        Args:
            answer: the answer.
            value: the tensor of a wrong shape.
            trial: the trial that it was given in.
        """
        if answer.name in self._mistakes:
            mistake = self._mistakes[answer.name].mistake
            if mistake.code != "unknown":
                return mistake
        owner = describe(tuple(trial.inputs[answer.name].shape), trial.axes(answer.name))
        says = f"its shape is {describe(tuple(value.shape))}; it should be the shape of {answer.name}, {owner}"
        return Mistake("wrong-shape", says)

    def _diagnose_use(self, answer: Answer) -> Mistake | None:
        """Diagnose arguments that were changed, and another answer to an equal call; `None` if there is neither."""
        if changed := next((run.report.changed for run in self.runs if run.report.changed), ()):
            return Mistake("mutated-input", f"{changed[0]} is not what it was before {self.code.name} was called")
        first, again = (report.gradients.get(answer.name) for report in self.twice)
        if differ(first, again):
            return Mistake("not-repeatable", "called again with the same arguments, it gives a different answer")
        return None

    # --- the numbers -------------------------------------------------------------------------------------------------

    @cached_property
    def _raised_by_layout(self) -> Mistake | None:
        """Diagnose code that raises for an upstream gradient that is not contiguous; `None` if it does not."""
        run = next((run for run in self.runs if run.layout and run.report.error), None)
        if run is None:
            return None
        g = self.code.upstream_name
        says = f"where {g} is {run.layout}, {self.code.name} raises {run.report.error}: see {g}.contiguous()"
        return Mistake("error", says)

    def _diagnose_layout(self, answer: Answer) -> Mistake | None:
        """Diagnose an answer that is wrong only for upstream gradients that are not contiguous; else return `None`."""
        wrong = [run for run in self.runs if run.is_wrong(answer)]
        if not wrong or not all(run.layout for run in wrong):
            return None
        g, where = self.code.upstream_name, list_in_words(dict.fromkeys(run.layout for run in wrong))
        read = all(self._is_misread(answer, run) for run in wrong)
        first = f"it reads {g} as if it were contiguous" if read else f"it is right only where {g} is contiguous"
        return Mistake("wrong-operand" if read else "unknown", f"{first}, and it is wrong where {g} is {where}")

    def _diagnose_kink(self, answer: Answer) -> Mistake | None:
        """Diagnose an answer that is wrong at kinks and ties only; `None` if it is wrong elsewhere, too.

        `None` also where all right gradients are alike: there the forward pass is strongly curved and has no kink.
        """
        wrong = [run for run in self.runs if run.is_wrong(answer)]
        compared = [run.compared(answer) for run in wrong]
        if any((comparison.wrong & ~comparison.kinks).any() for comparison in compared):
            return None
        run, (index, *_) = wrong[0], np.argwhere(compared[0].wrong)
        place, array = tuple(map(int, index)), run.array(answer)
        assert array is not None
        low, high = float(compared[0].low[place]), float(compared[0].high[place])
        if high - low <= CURVED * max(abs(low), abs(high)):
            return None
        at = _entry(answer.name, place, float(run.trial.inputs[answer.wrt][place]))
        slack = SAME * max(abs(low), abs(high))
        if low - slack <= array[place] <= high + slack:
            says = SHARES.format(at=at)
        else:
            says = f"at the kink {at} it is {array[place]:.3g}; it must be between {low:.3g} and {high:.3g}"
        return Mistake("wrong-local", says)

    def broken_ties(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield (name of an answer, index) for each answer that is wrong only together with those before it, at a tie.

        Where a[i] == b[i] under maximum(a, b), a.g[i] and b.g[i] may have any share of the upstream gradient, but must
        add up to it. The index is that of one such entry.
        """
        answers, reported = self.exercise.answers, set[str]()
        for run in self.runs if len(answers) > 1 and not self.measured else ():
            if not any(run.compared(answer).convention.any() for answer in answers):
                continue
            arrays = {answer: run.with_conventions(answer) for answer in answers}
            for answer, mask in wrong_shares(self.exercise, run.trial, arrays, SAME).items():
                if answer.name not in reported:
                    reported.add(answer.name)
                    yield answer.name, tuple(map(int, np.unravel_index(int(mask.argmax()), mask.shape)))

    def finding_in_tie(self, name: str, index: tuple[int, ...]) -> Finding:
        """Return the verdict on an answer whose share at `index` does not add up with those of the equal entries."""
        value = float(self.runs[0].trial.inputs[name][index])
        return self._failed(Answer(name, name), Mistake("wrong-local", SHARES.format(at=_entry(name, index, value))))

    def _is_misread(self, answer: Answer, run: Run) -> bool:
        """Return whether an answer is the gradient for an upstream gradient whose memory is read as contiguous.

        False where the gradient for it cannot be computed.
        """
        array, out_g = run.array(answer), run.trial.out_g
        assert out_g is not None
        read = join_outputs(tuple(map(read_as_contiguous, run.code_trial.call.out_g))).double().reshape(out_g.shape)
        try:
            other = self._right_for(answer, replace(run.trial, out_g=read, memo={}))
        except IMPOSSIBLE:
            return False
        return array is not None and scaled_error(array, other) <= max(MISREAD, run.code_trial.bounds[answer.name])

    def _right_for(self, answer: Answer, trial: Trial) -> np.ndarray:
        """Return the right gradient in another trial, by torch or measured; shaped like the input."""
        if not self.measured:
            return autograd_answer(self.exercise, answer, trial.inputs, trial.out_g)
        values = trial.inputs[answer.wrt].numpy()
        return finite_differences.gradient(partial(loss_of, self.exercise, trial, answer.wrt), values)

    @cached_property
    def _mistakes(self) -> dict[str, _Search]:
        """Return, by name of each wrong answer, the mistake in it and how it was looked for.

        It is looked for in up to three ways, until one of them identifies it:

        1. In all informative runs. Where the code has another right value at a kink than torch, torch's is put there.
        2. In the runs of the field `runs` alone, for in those of `others` the code may make a second mistake. A mistake
           with several facts gives way to one with a single fact and a place, which is no factor of those sizes alone.
        3. In all informative runs with the arrays as the code gave them, if it has a value of its own at a kink: it may
           be part of the mistake.
        """
        runs = self.informative_runs
        counted = [run for run in runs if run in self.runs]
        wrong = [answer for answer in self.exercise.answers if any(run.is_wrong(answer) for run in counted)]
        cases: list[Case] = []
        mistakes = self._mistakes_in(runs, wrong, Run.with_torchs_choices, cases)

        def unknown() -> list[Answer]:
            """Return the answers whose mistake is not identified."""
            return [answer for answer in wrong if mistakes[answer.name].mistake.code == "unknown"]

        def add(more: Mapping[str, _Search]) -> None:
            """Take over the mistakes that are identified."""
            mistakes.update({name: search for name, search in more.items() if search.mistake.code != "unknown"})

        if len(counted) < len(runs):
            several = [answer for answer in wrong if len(mistakes[answer.name].mistake.facts) > 1]
            again = self._mistakes_in(counted, several + unknown(), Run.with_torchs_choices, cases)
            doubtful = {answer.name for answer in several}
            add({name: search for name, search in again.items()
                 if name not in doubtful or (len(search.mistake.facts) == 1 and search.mistake.at)})  # fmt: skip
        with_choices = [answer for answer in unknown() if any(run.has_choices(answer) for run in runs)]
        add(self._mistakes_in(runs, with_choices, Run.array, [], WORK_AGAIN))
        return mistakes

    def _mistakes_in(
        self,
        all_runs: Sequence[Run],
        answers: list[Answer],
        array_in: Callable[[Run, Answer], np.ndarray | None],
        cases: list[Case],
        budget: float = MOST_WORK,
    ) -> dict[str, _Search]:
        """Return, by name of some wrong answers, the mistake in each and how it was looked for.

        Trials are grouped by the lines that the forward pass runs in them; a mistake is looked for within one group.
        Where there is a single trial, a mistake that is not identified may be one factor of all entries.

        Args:
            all_runs: the trials.
            answers: the answers; each is wrong in one of the trials.
            array_in: returns an answer's array in a trial; `None` if it has none there.
            cases: the cases (answers with their screens) of earlier searches, which are reused; the new ones are
                appended.
            budget: the most work of one search, counted in calls of numpy.
        """
        searches: dict[str, _Search] = {}
        remaining = answers
        while remaining:
            first = next(run for run in all_runs if any(run.is_wrong(answer) for answer in remaining))
            runs = [run for run in all_runs if self._operations(run) == self._operations(first)]
            diagnosable = [answer for answer in remaining if any(run.is_wrong(answer) for run in runs)]
            samples = {answer.name: list(_samples(runs, answer, array_in)) for answer in diagnosable}
            right = [
                answer.name for answer in self.exercise.answers if not any(run.is_wrong(answer) for run in all_runs)
            ]
            error = ""
            try:
                mistakes = find_mistakes(self.exercise, samples, right, cases, budget)
            except IMPOSSIBLE as raised:  # such as by a forward pass that cannot be run again, operation by operation
                mistakes, error = plain_facts(self.exercise, samples), describe_error(raised)
            for name, mistake in mistakes.items():
                factor = _factor(runs[0], name, mistake) if len(all_runs) == 1 else None
                searches[name] = _Search(runs[0].trial, factor or mistake, error)
            remaining = [answer for answer in remaining if answer not in diagnosable]
        return searches

    def _operations(self, run: Run) -> frozenset[Hashable] | None:
        """Return the operations of forward in a trial, by their places in the source; `None` if it is not recorded."""

        def operations() -> frozenset[Hashable]:
            """Record the trial; the program of a large one, of which few are searched, is not kept."""
            trial = run.trial if run.trial.entries <= LARGE else replace(run.trial, memo={})
            return frozenset(node.key for node in program_of(self.exercise, trial).nodes)

        try:
            known: frozenset[Hashable] = run.trial.remember("operations", operations)
        except IMPOSSIBLE:
            return None
        return known

    def _places_of_mistake(self, answer: Answer) -> str:
        """Return the place of a mistake in words, such as "`x @ w`, on the way to w"; empty if it has none."""
        search = self._mistakes[answer.name]
        if not search.mistake.at:
            return ""
        return describe_places(program_of(self.exercise, search.trial), search.mistake.at)

    def _diagnose_stale_input(self, answer: Answer) -> Mistake | None:
        """Diagnose an answer whose wrong numbers are right for one input of an earlier call; else return `None`."""
        names = set[str]()
        for run in self.runs:
            if run.is_wrong(answer) and not run.layout:
                stale = run.trial.remember("stale inputs", partial(self._stale_inputs, run))
                if answer.name not in stale:
                    return None
                names.add(stale[answer.name])
        if len(names) != 1:
            return None
        return Mistake("not-repeatable", f"it is computed with the {names.pop()} of an earlier call")

    def _stale_inputs(self, run: Run) -> dict[str, str]:
        """Find the answers that are wrong in a run, and right if one input has its value of another run.

        Code with such answers has stored the input in an earlier call. Of several such inputs, the first one counts.

        Returns:
            By the name of the answer, the name of that input; nothing if the right gradients are measured.
        """
        answers = [answer for answer in self.exercise.answers if run.is_wrong(answer)]
        stale: dict[str, str] = {}
        for name, value in () if self.measured else run.trial.inputs.items():
            others = (
                (run.trial.inputs[name] for run in self.informative_runs) if isinstance(value, torch.Tensor) else ()
            )
            for other in {id(other): other for other in others}.values():
                if other.shape == value.shape and not torch.equal(other, value):
                    mixed = {**run.trial.inputs, name: other}
                    try:
                        old = autograd_answers(self.exercise, answers, mixed, run.trial.out_g)
                    except IMPOSSIBLE:
                        continue  # such as a point of another call that lies outside of this call's image
                    for answer in answers:
                        array, right = run.array(answer), run.right(answer)
                        assert array is not None
                        error, bound = scaled_error(array, old[answer.name]), run.code_trial.bounds[answer.name]
                        if error < bound < scaled_error(old[answer.name], right):
                            stale.setdefault(answer.name, name)
        return stale

    def _evidence_of_nudge(self, answer: Answer, mistake: Mistake | None) -> str:
        """Return a sentence on what a nudge of the worst entry does to the loss; empty where none can be measured."""
        run = next((run for run in (*self.informative_runs, *self.runs) if run.is_wrong(answer)), None)
        if run is None:
            return ""
        array = run.with_torchs_choices(answer)
        assert array is not None
        try:
            return evidence_of(self.exercise, answer, [sample_of(answer, run.trial, array)], mistake)
        except IMPOSSIBLE:
            return ""  # the forward pass is not defined so near to this input


def _entry(name: str, place: tuple[int, ...], value: float) -> str:
    """Return an entry of the input `name` with its index `place` and its value, such as `x[0,1] = 0.5`, for a message.

    For an input without axes, whose index is empty: `x = 0.5`.
    """
    return f"{name}[{','.join(map(str, place))}] = {value:.3g}" if place else f"{name} = {value:.3g}"


def _factor(run: Run, name: str, mistake: Mistake) -> Mistake | None:
    """Return the mistake that every entry of an answer is off by one factor.

    `None` where there is no such factor, or `mistake` says more already than that the answer is wrong.

    Args:
        run: the run of the one call.
        name: the name of the answer.
        mistake: the mistake that is known so far.
    """
    answer = Answer(name, name)
    array = run.array(answer)
    if array is None or mistake.code != "unknown":
        return None
    factor = common_ratio(array, run.right(answer))
    if factor is None:
        return None
    return with_words(FACTOR_NUMBER("wrong-factor", factor=number_text(factor)))


def _samples(
    runs: Sequence[Run], answer: Answer, array_in: Callable[[Run, Answer], np.ndarray | None]
) -> Iterator[Sample]:
    """Yield the sample of an answer in each run in which it is an array, shaped like the input.

    Args:
        runs: the runs.
        answer: the answer.
        array_in: takes a run and the answer; returns the learner's array there, `None` where there is none.
    """
    for run in runs:
        if (array := array_in(run, answer)) is not None:
            yield sample_of(answer, run.trial, array)


def samples_of(runs: Sequence[Run], answer: Answer) -> list[Sample]:
    """Return the sample of an answer in each run in which it is an array, with torch's choices at kinks."""
    return list(_samples(runs, answer, Run.with_torchs_choices))


def differ(value: Any, other: Any) -> bool:
    """Return whether two gradients of equal calls differ by more than rounding.

    A tensor differs from any other value; two values that are no tensors differ if one of them is `None`.
    """
    if not isinstance(value, torch.Tensor) or not isinstance(other, torch.Tensor):
        return (value is None) != (other is None)
    arrays = [tensor.detach().numpy() for tensor in (value, other)]
    if arrays[0].shape != arrays[1].shape or (np.isfinite(arrays[0]) != np.isfinite(arrays[1])).any():
        return True
    return scaled_error(*(np.where(np.isfinite(array), array, 0.0) for array in arrays)) > SAME


# --- functions with a forward pass of their own --------------------------------------------------------------------


def function_findings(findings: Mapping[str, Finding], code: Code, runs: Sequence[Run]) -> tuple[Finding, ...]:
    """Return the findings, with the faults that only a function can have: a wrong output, or state between its passes.

    A wrong output comes first.

    Args:
        findings: by input, the verdict on its gradient; one that passed is replaced where the function has a fault.
        code: the function.
        runs: the runs with the given sizes, the given inputs first.
    """
    new = dict(findings)
    if not any(run.report.error for run in runs):
        call, report = runs[0].code_trial.call, runs[0].report
        for fault in (*_state_outside_ctx(code, call, report), *_faults_of_single_gradients(code, call, report)):
            if fault.answer in new and new[fault.answer].status == "passed":
                new[fault.answer] = fault
    return (*_other_output(code, runs), *new.values())


def unasked_gradients_note(code: Code, runs: Sequence[Run]) -> str:
    """Return a note that a function computes every gradient though only one is asked for; empty if it does not.

    Args:
        code: the function.
        runs: the runs with the given sizes, the given inputs first.
    """
    call = runs[0].code_trial.call
    if len(call.wrt) < 2 or any(run.report.error for run in runs):
        return ""
    unasked = {other for name in call.wrt for other in code.observe(replace(call, wrt=(name,))).unasked}
    if not set(call.wrt) <= unasked:
        return ""
    return f"{code.name} computes every gradient, asked for or not; ctx.needs_input_grad says which ones are"


def _other_output(code: Code, runs: Sequence[Run]) -> Iterator[Finding]:
    """Yield a failed verdict on `out` if the function computes an output that differs from forward's in a run."""
    for run in runs:
        right = run.trial.out
        if not run.report.outputs or right is None:
            continue
        error = scaled_error(join_outputs(run.report.outputs).double().numpy(), right.numpy())
        if error > max(SAME, *run.code_trial.bounds.values()):
            says = f"{code.name} computes an output that differs from forward's, by {error:.1e} of the largest entry"
            yield Finding("out", "failed", "unknown", says)
            return


def _state_outside_ctx(code: Code, call: CodeCall, alone: CallReport) -> Iterator[Finding]:
    """Yield a failed verdict on each gradient that differs if another call is made before its backward pass.

    Args:
        code: the function.
        call: the call with the given inputs.
        alone: the report of that call when no other call is made.
    """
    flipped = {
        name: torch.flip(value, tuple(range(value.dim()))) if is_floating(value) else value
        for name, value in call.inputs.items()
    }
    other = replace(call, inputs=flipped)
    report = code.observe(call, other)
    if report.error and code.observe(other).error:
        return  # it is not defined for the flipped inputs
    error = f" ({report.error})" if report.error else ""
    says = f"it differs if the function is called again before its backward pass{error}"
    for name in call.wrt:
        if report.error or differ(alone.gradients[name], report.gradients[name]):
            advice = "what backward needs must be kept on ctx, of which each call has its own"
            yield Finding(name, "failed", "not-repeatable", f"{says}: {advice}")


def _faults_of_single_gradients(code: Code, call: CodeCall, whole: CallReport) -> Iterator[Finding]:
    """Yield a failed verdict on each gradient that is missing or different when it alone is required.

    Args:
        code: the function, which learns from `ctx.needs_input_grad` which gradients are required.
        call: the call with the given inputs, in which all of them are required.
        whole: the report of that call.
    """
    for name in call.wrt if len(call.wrt) > 1 else ():
        report = code.observe(replace(call, wrt=(name,)))
        where = f"where {name} alone requires a gradient"
        if report.error:
            says = f"{where}, {code.name} raises {report.error}: see ctx.needs_input_grad"
            yield Finding(name, "failed", "error", says)
        elif report.gradients[name] is None and _is_nonzero(whole.gradients[name]):
            yield Finding(name, "failed", "missing-answer", f"{where}, it is None: see ctx.needs_input_grad")
        elif report.gradients[name] is not None and differ(whole.gradients[name], report.gradients[name]):
            yield Finding(name, "failed", "hard-coded", f"{where}, it differs: see ctx.needs_input_grad")


def _is_nonzero(value: Any) -> bool:
    """Return whether a gradient is a tensor with an entry that is not 0."""
    return isinstance(value, torch.Tensor) and bool(value.any())
