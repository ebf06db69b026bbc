"""The declaration of an exercise: a forward pass, and the gradients of it that the learner writes."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from grader.errors import SpecError
from grader.results.codes import CODES, VALUE_CODES

from .sampling import Marker, Sampler
from .shapes import named_axes

Hints = tuple[str, str, str]
Argument = Sampler | Marker
RETURN = "return"
VERDICTS = "verdicts"


@dataclass(frozen=True)
class Answer:
    """Describe one array that a learner's function stores or returns.

    Args:
        name: `"w.g"` for a stored gradient, `"return"` for a returned answer, `"return.1"` for the second of several.
        wrt: the input that is differentiated; empty for a value.
        kind: a gradient, shaped like `wrt`; a Jacobian, shaped `(*out.shape, *wrt.shape)`; a value; or the verdicts of
            a learner's test on the backward passes that it is called with.
    """

    name: str
    wrt: str = ""
    kind: Literal["gradient", "jacobian", "value", "verdict"] = "gradient"

    @property
    def stored(self) -> bool:
        """Return whether the answer is an attribute of an argument, not the return value."""
        return self.kind != "verdict" and self.name.partition(".")[0] != RETURN

    @property
    def place(self) -> int | None:
        """Return the index of the answer among several returned arrays; `None` if it is the only one, or stored."""
        place = self.name.partition(".")[2]
        return int(place) if place and not self.stored else None


def stored(*names: str) -> tuple[Answer, ...]:
    """Return answers that are gradients stored on the arguments, such as `stored("inp.g", "w.g")`."""
    return tuple(Answer(name, name.removesuffix(".g")) for name in names)


def returned(wrt: str) -> tuple[Answer, ...]:
    """Return the answers of a function that returns the gradient with respect to `wrt`; its shape: that of `wrt`."""
    return (Answer(RETURN, wrt),)


def returned_jacobian(wrt: str) -> tuple[Answer, ...]:
    """Return the answers of a function that returns the Jacobian; its shape: `(*out.shape, *wrt.shape)`."""
    return (Answer(RETURN, wrt, "jacobian"),)


def returned_value() -> tuple[Answer, ...]:
    """Return the answers of a function that returns the value of the forward pass: one, named `return`."""
    return (Answer(RETURN, "", "value"),)


@dataclass(frozen=True)
class Misconception:
    """Declare a mistake by a function that computes the wrong array.

    Args:
        code: the public code of the mistake.
        answer: the name of the answer. Where several arrays are returned, `"return"` stands for all of them: then the
            rule returns all, and the mistake is reported if each is the learner's.
        rule: takes any of the exercise's inputs by name, and `out`, `out_g`; returns the wrong array. Where more than
            one answer is right (see `Routine.accepts`) it may take `answer` as well, the array that the learner
            returned: it returns this array if the mistake may have given it. For `None` it returns an example.
        says: the fact in a sentence; empty to use the sentence of the code.
        hints: up to three hints that fit this mistake better than the answer's own.

    Raises:
        SpecError: the code is unknown.
    """

    code: str
    answer: str
    rule: Callable[..., Any]
    says: str = ""
    hints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the code.

        Raises:
            SpecError: there is no such public code; names the nearest.
        """
        if self.code not in CODES:
            near = difflib.get_close_matches(self.code, sorted(CODES), 1)
            known = f"did you mean {near[0]!r}?" if near else f"the codes are {', '.join(sorted(VALUE_CODES))}"
            raise SpecError(f"the misconception about {self.answer} has an unknown code, {self.code!r}: {known}")


@dataclass(frozen=True)
class InSteps:
    """Hold a forward pass in named steps, of which the last computes the output.

    If the value of a step is given, later steps use it in place of the computed one, so that its gradient can be
    requested.

    Args:
        rules: by name of the step, in order, a function that takes inputs and earlier steps by name.
    """

    rules: Mapping[str, Callable[..., Any]]

    def __call__(self, **given: Any) -> Any:
        """Return the output for the given inputs and steps."""
        return list(self.values(**given).values())[-1]

    def values(self, **given: Any) -> dict[str, Any]:
        """Return the value of every step by name, for the given inputs and steps.

        A step that is given keeps the value that it is given.
        """
        known = dict(given)
        for name, rule in self.rules.items():
            computed = rule(**{taken: known[taken] for taken in inspect.signature(rule).parameters})
            known.setdefault(name, computed)
        return {name: known[name] for name in self.rules}

    @property
    def __signature__(self) -> inspect.Signature:
        """Return the signature of the inputs that the steps take, in the order in which they take them."""
        taken = (p for rule in self.rules.values() for p in inspect.signature(rule).parameters.values())
        return inspect.Signature(list({p.name: p for p in taken if p.name not in self.rules}.values()))


def in_steps(**rules: Callable[..., Any]) -> InSteps:
    """Return a forward pass in named steps, each a function of inputs and earlier steps; the last is the output.

    For example, `in_steps(mean=lambda inp: inp.mean(0), out=lambda inp, mean: inp - mean)`.
    """
    return InSteps(rules)


@dataclass(frozen=True)
class Exercise:
    """Declare a backward pass to write by hand.

    Args:
        title: a short name for lists.
        forward: takes the sampled inputs by name; returns the output tensor.
        inputs: the arguments of the learner's function, in order, each with its sampler; `output()` and
            `upstream()` mark arrays that the grader computes, `step(...)` the value of a named step of the forward pass
            (see `in_steps`), `withheld(...)` an argument of the forward pass only.
        answers: the gradients that the learner writes; see `stored`, `returned`, `returned_jacobian`.
        hints: three hints for each answer, from a question to almost the solution.
        misconceptions: mistakes that no edit of the forward pass gives.
        never_holds: the axes (`"bs n m"`, `"n n"`) of an array that must never exist in memory.
        faulty: the lines of a function body with a mistake, for the learner to correct; the stub has them in place of
            `...`.
        held_by_forward: whether forward and torch's own backward pass need as much memory as this array: then there is
            no trial without room for it, and only the memory of the call is measured.

    Raises:
        SpecError: the parts of the declaration contradict each other.
    """

    title: str
    forward: Callable[..., Any]
    inputs: Mapping[str, Argument]
    answers: tuple[Answer, ...]
    hints: Mapping[str, Hints] = field(default_factory=dict)
    misconceptions: tuple[Misconception, ...] = ()
    never_holds: str = ""
    faulty: str = ""
    held_by_forward: bool = False

    is_test: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Check that the answers, steps and inputs of the declaration fit each other.

        Raises:
            SpecError: the answers, steps and inputs contradict each other.
        """
        _check_common(self)
        for answer in self.answers:
            if answer.wrt and not is_differentiable(self.inputs.get(answer.wrt)):
                raise SpecError(f"the answer {answer.name} differentiates {answer.wrt!r}, which is no array input")
            if answer.stored and answer.wrt not in self.argument_names:
                raise SpecError(f"the answer {answer.name} has nowhere to be stored: {answer.wrt} is withheld")
        for name in self.step_names:
            if name not in (self.forward.rules if isinstance(self.forward, InSteps) else ()):
                raise SpecError(f"forward has no step called {name}: write it with in_steps(...)")
        missing = set(inspect.signature(self.forward).parameters) - set(self.samplers)
        if missing:
            raise SpecError(f"forward takes {', '.join(sorted(missing))}, which inputs does not declare")

    @property
    def samplers(self) -> dict[str, Sampler]:
        """Return the samplers of the sampled arguments, by name; those of a list `ws` as `ws[0]`, `ws[1]`, ..."""
        return samplers_of(self.inputs)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Return the names of the learner's function's arguments, in order, without those of the forward pass alone."""
        return tuple(name for name, given in self.inputs.items() if isinstance(given, Marker) or not given.withheld)

    @cached_property
    def forward_names(self) -> tuple[str, ...]:
        """Return the names of the arguments of the forward pass, in order."""
        return tuple(inspect.signature(self.forward).parameters)

    @cached_property
    def step_names(self) -> tuple[str, ...]:
        """Return the names of the steps of the forward pass whose values are arguments of the learner's function."""
        return tuple(n for n, given in self.inputs.items() if isinstance(given, Marker) and given.role == "step")

    def run(self, inputs: Mapping[str, Any], wrt: str = "") -> Any:
        """Return the output of the forward pass, with the steps computed, except perhaps one.

        Args:
            inputs: the inputs and steps by name; names that the forward pass does not use are ignored.
            wrt: the name of a step whose value is taken from `inputs`; any other name, or an empty one, has no effect.
        """
        taken = (*self.forward_names, *(name for name in self.step_names if name == wrt))
        return self.forward(**{name: inputs[name] for name in taken})

    @property
    def gives_upstream(self) -> bool:
        """Return whether the learner's function gets an upstream gradient; if not, it is 1 everywhere."""
        return any(self.argument_with_role(role) for role in ("output", "upstream"))

    @property
    def output_name(self) -> str:
        """Return the name of the output for the learner: that of its argument, or else "the loss" or "the output".

        It is "the loss" if gradients are stored, or if the docstring of the forward pass says what `loss` is.
        """
        is_loss = any(answer.stored for answer in self.answers) or "loss = " in (self.forward.__doc__ or "")
        return self.argument_with_role("output") or ("the loss" if is_loss else "the output")

    @property
    def upstream_name(self) -> str:
        """Return the name of the upstream gradient for the learner: that of its argument, or else `out.g`."""
        return self.argument_with_role("upstream") or f"{self.argument_with_role('output') or 'out'}.g"

    def argument_with_role(self, role: str) -> str:
        """Return the name of the argument that is marked with this role, such as `"output"`; empty if there is none."""
        names = (name for name, given in self.inputs.items() if isinstance(given, Marker) and given.role == role)
        return next(names, "")


@dataclass(frozen=True)
class Routine:
    """Declare a function to write that is not a backward pass, such as a difference quotient or a test.

    A learner's test has a `sampling.backward_passes(...)` as its argument, and is called with one of them in each
    trial. Its answer is whether it raises, so its reference is 1 for a wrong backward pass and 0 for a right one. It
    gets a share of the points for each right verdict.

    Args:
        title: a short name for lists.
        inputs: the arguments of the learner's function, in order, each with its sampler; for a list of arrays, a
            tuple of samplers.
        reference: takes the same arguments; returns a right answer.
        hints: three hints for `"return"`, or for each of `"return.0"`, `"return.1"`, ...
        misconceptions: mistakes; their rules take any of the arguments by name.
        accepts: takes the answer, and the arguments by name; returns whether it is right. By default, or where it is
            `None`, the answer must equal the reference.
        returns: how many arrays it returns; several are in a list or a tuple, and each is an answer.
        is_test: whether it is a test, which returns nothing and raises to reject its argument; its hints are for
            `"verdicts"`.
        listed: whether a list of numbers, or an array of any dtype, is accepted as an array.

    Raises:
        SpecError: the parts of the declaration contradict each other.
    """

    title: str
    inputs: Mapping[str, Argument | tuple[Sampler, ...]]
    reference: Callable[..., Any]
    hints: Mapping[str, Hints] = field(default_factory=dict)
    misconceptions: tuple[Misconception, ...] = ()
    accepts: Callable[..., bool] | None = None
    returns: int = 1
    is_test: bool = False
    listed: bool = False

    never_holds: str = field(default="", init=False)
    faulty: str = field(default="", init=False)

    def __post_init__(self) -> None:
        """Check that the parts of the declaration fit each other.

        Raises:
            SpecError: the parts contradict each other.
        """
        _check_common(self)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Return an answer for each array that the function returns; for a test, one answer, its verdicts."""
        if self.is_test:
            return (Answer(VERDICTS, "", "verdict"),)
        if self.returns == 1:
            return returned_value()
        return tuple(Answer(f"{RETURN}.{place}", "", "value") for place in range(self.returns))

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Return the names of the arguments of the learner's function, in order."""
        return tuple(self.inputs)

    @property
    def samplers(self) -> dict[str, Sampler]:
        """Return the samplers of the sampled arguments, by name; those of a list `ws` as `ws[0]`, `ws[1]`, ..."""
        return samplers_of(self.inputs)


Declaration = Exercise | Routine


def samplers_of(inputs: Mapping[str, Argument | tuple[Sampler, ...]]) -> dict[str, Sampler]:
    """Return the samplers by argument, without the markers; those of a list `ws` of arrays as `ws[0]`, `ws[1]`, ..."""
    samplers: dict[str, Sampler] = {}
    for name, given in inputs.items():
        if isinstance(given, Sampler):
            samplers[name] = given
        elif isinstance(given, tuple):
            samplers |= {f"{name}[{place}]": sampler for place, sampler in enumerate(given)}
    return samplers


def is_differentiable(argument: Argument | None) -> bool:
    """Return whether gradients with respect to an argument exist: the argument is a floating-point array, or a step.

    Args:
        argument: the sampler or marker of the argument; `None` for an unknown argument, which has no gradients.
    """
    return (
        argument.differentiable if isinstance(argument, Sampler) else argument is not None and argument.role == "step"
    )


def specs_of(declaration: Declaration) -> tuple[str, ...]:
    """Return the axis specs of all sampled array arguments, such as `"bs n"`."""
    return tuple(sampler.spec for sampler in declaration.samplers.values() if sampler.spec)


def sizes_of(declaration: Declaration) -> dict[str, tuple[int, ...]]:
    """Return the sizes that an axis may have, by axis; an axis without restriction is missing.

    Of several arguments that restrict an axis, the last one counts.
    """
    return {axis: sizes for sampler in declaration.samplers.values() for axis, sizes in sampler.sizes.items()}


def _check_common(declaration: Declaration) -> None:
    """Check the fields that an exercise and a routine share.

    Raises:
        SpecError: an input has no sampler, an answer is there twice, or misconceptions, hints or `never_holds` name an
            answer, an input or an axis that the declaration does not have.
    """
    for name, given in declaration.inputs.items():
        if not all(isinstance(part, (Sampler, Marker)) for part in (given if isinstance(given, tuple) else (given,))):
            value = "..." if isinstance(given, tuple) else repr(given)[:40]
            raise SpecError(f"the input {name} is {value}: give a sampler, e.g. each_of({value})")
    names = [answer.name for answer in declaration.answers]
    if not names or len(set(names)) != len(names):
        raise SpecError("an exercise needs at least one answer, and each only once")
    for misconception in declaration.misconceptions:
        if misconception.answer not in (*names, *([RETURN] if "return.0" in names else ())):
            raise SpecError(f"the misconception {misconception.code} is about {misconception.answer!r}, no answer here")
        known = {*declaration.inputs, "out", "out_g", "answer"}
        unknown = set(inspect.signature(misconception.rule).parameters) - known
        if unknown:
            raise SpecError(
                f"the rule of {misconception.code} takes {', '.join(sorted(unknown))}, which nothing declares"
            )
    for name in declaration.hints:
        if name not in names:
            raise SpecError(f"there are hints for {name!r}, which is no answer here")
    strange = set(named_axes([declaration.never_holds])) - set(named_axes(specs_of(declaration)))
    if strange:
        raise SpecError(f"never_holds names the unknown axes {', '.join(sorted(strange))}")
