"""The declaration of an exercise: a forward pass, and which gradients of it the learner writes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from grader.errors import SpecError
from grader.results.codes import CODES

from .sampling import Marker, Sampler
from .shapes import named_axes

Hints = tuple[str, str, str]
Argument = Sampler | Marker
RETURN = "return"
VERDICTS = "verdicts"


@dataclass(frozen=True)
class Answer:
    """One thing a learner writes.

    Args:
        name: `"w.g"` for a stored gradient, `"return"` for a returned answer, `"return.1"` for a part of it.
        wrt: the input that is differentiated, empty for a value.
        kind: a gradient, shaped like `wrt`; a Jacobian, shaped `(*out.shape, *wrt.shape)`; a value; or whether a test
            rejects what it is called with.
    """

    name: str
    wrt: str = ""
    kind: Literal["gradient", "jacobian", "value", "verdict"] = "gradient"

    @property
    def stored(self) -> bool:
        """The answer is an attribute of an argument, not the return value."""
        return self.kind != "verdict" and self.name.partition(".")[0] != RETURN

    @property
    def place(self) -> int | None:
        """Which of several returned arrays it is; `None` where it is the only one, or stored."""
        place = self.name.partition(".")[2]
        return int(place) if place and not self.stored else None


def stored(*names: str) -> tuple[Answer, ...]:
    """Gradients stored on the arguments: `stored("inp.g", "w.g")`."""
    return tuple(Answer(name, name.removesuffix(".g")) for name in names)


def returned(wrt: str) -> tuple[Answer, ...]:
    """The gradient with respect to `wrt`, returned; shape: that of `wrt`."""
    return (Answer(RETURN, wrt),)


def returned_jacobian(wrt: str) -> tuple[Answer, ...]:
    """The Jacobian of the output with respect to `wrt`, returned; shape: `(*out.shape, *wrt.shape)`."""
    return (Answer(RETURN, wrt, "jacobian"),)


def returned_value() -> tuple[Answer, ...]:
    """The value of the forward pass, returned."""
    return (Answer(RETURN, "", "value"),)


@dataclass(frozen=True)
class Misconception:
    """A wrong rule that computes what it would give.

    Args:
        code: the public code of the mistake.
        answer: which answer it concerns; where several arrays are returned, `"return"` is all of them at once: then
            the rule returns all, and the mistake is told where each is the learner's.
        rule: takes any of the exercise's inputs by name, and `out`, `out_g`; returns the wrong array. Where more than
            one answer is right (see `Routine.accepts`) it may take `answer` as well, what the learner returned: it
            returns that if this mistake may have given it. `None` asks for an example of the mistake.
        says: the fact in a sentence; empty to let the code speak.
        hints: up to three steps that fit this mistake better than the answer's own.
    """

    code: str
    answer: str
    rule: Callable[..., Any]
    says: str = ""
    hints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise SpecError(f"the misconception about {self.answer} has an unknown code, {self.code!r}")


@dataclass(frozen=True)
class InSteps:
    """A forward pass in named steps: what each of them computes from inputs and from steps before it; the last is out.

    A step that is given is used in place of what was computed, by every later step: so its gradient can be asked for.
    """

    rules: Mapping[str, Callable[..., Any]]

    def __call__(self, **given: Any) -> Any:
        return list(self.values(**given).values())[-1]

    def values(self, **given: Any) -> dict[str, Any]:
        """Every step by name."""
        known = dict(given)
        for name, rule in self.rules.items():
            computed = rule(**{taken: known[taken] for taken in inspect.signature(rule).parameters})
            known.setdefault(name, computed)
        return {name: known[name] for name in self.rules}

    @property
    def __signature__(self) -> inspect.Signature:
        """The inputs that the steps take, in the order in which they take them."""
        taken = (p for rule in self.rules.values() for p in inspect.signature(rule).parameters.values())
        return inspect.Signature(list({p.name: p for p in taken if p.name not in self.rules}.values()))


def in_steps(**rules: Callable[..., Any]) -> InSteps:
    """A forward pass in named steps: `in_steps(mean=lambda inp: inp.mean(0), out=lambda inp, mean: inp - mean)`."""
    return InSteps(rules)


@dataclass(frozen=True)
class Exercise:
    """A backward pass to write by hand.

    Args:
        title: a short name for lists.
        forward: takes the sampled inputs by name and returns the output tensor.
        inputs: the arguments of the learner's function, in order, each with its sampler; `output()` and
            `upstream()` mark what the grader computes, `step(...)` the value of a named step of the forward pass (see
            `in_steps`), `withheld(...)` what only the forward pass takes.
        answers: what the learner writes; see `stored`, `returned`, `returned_jacobian`.
        hints: three steps for each answer: nudge, pointer, almost there.
        misconceptions: wrong rules that the forward graph does not imply.
        never_holds: axes (`"bs n m"`, `"n n"`) of an array that must never exist in memory.
        faulty: the lines of a body with a mistake, for the learner to mend; the stub has them in place of `...`.
        held_by_forward: forward and torch's own way back hold as much, so that where there is no room for it nobody can
            say what is right: it is metered, and not tried without room.
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
        """The sampled arguments, by name."""
        return samplers_of(self.inputs)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The arguments of the learner's function, in order."""
        return tuple(name for name, given in self.inputs.items() if isinstance(given, Marker) or not given.withheld)

    @cached_property
    def forward_names(self) -> tuple[str, ...]:
        """The arguments that the forward pass takes."""
        return tuple(inspect.signature(self.forward).parameters)

    @cached_property
    def step_names(self) -> tuple[str, ...]:
        """The steps of the forward pass whose values the learner's function is given."""
        return tuple(n for n, given in self.inputs.items() if isinstance(given, Marker) and given.role == "step")

    def run(self, inputs: Mapping[str, Any], wrt: str = "") -> Any:
        """The forward pass, of everything that is known by name; only the step `wrt` is taken as it is given there."""
        taken = (*self.forward_names, *(name for name in self.step_names if name == wrt))
        return self.forward(**{name: inputs[name] for name in taken})

    @property
    def gives_upstream(self) -> bool:
        """The learner is given an upstream gradient; without one it is 1 everywhere."""
        return any(self.argument_with_role(role) for role in ("output", "upstream"))

    @property
    def output_name(self) -> str:
        """What a learner calls the output."""
        return self.argument_with_role("output") or "the output"

    @property
    def upstream_name(self) -> str:
        """What a learner calls the upstream gradient."""
        return self.argument_with_role("upstream") or f"{self.argument_with_role('output') or 'out'}.g"

    def argument_with_role(self, role: str) -> str:
        """The argument that the grader computes for this role; empty if there is none."""
        found = (name for name, given in self.inputs.items() if isinstance(given, Marker) and given.role == role)
        return next(found, "")


@dataclass(frozen=True)
class Routine:
    """A function to write that is not a backward pass: a difference quotient, an optimiser step, a test.

    A test takes a `sampling.backward_passes(...)`, and each trial gives it one of them. What it answers is whether it
    raises: its reference is 1 for a wrong backward pass and 0 for a right one. Points are given in part.

    Args:
        title: a short name for lists.
        inputs: the arguments of the learner's function, in order, each with its sampler; for a list of arrays, a
            tuple of samplers.
        reference: takes the same arguments and returns a right answer.
        hints: three steps for `"return"`, or for each of `"return.0"`, `"return.1"`, ...
        misconceptions: wrong rules; each takes any of the arguments by name.
        accepts: `(answer, **arguments) -> bool` where more than one answer is right; by default the answer
            must equal the reference.
        returns: how many arrays it returns; several are in a list or a tuple, and each is an answer of its own.
        is_test: it returns nothing, and raises where it rejects what it is called with; hints are for `"verdicts"`.
        listed: a list of numbers will do for an array, and so will an array of any dtype.
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
        _check_common(self)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What the function returns, each array an answer."""
        if self.is_test:
            return (Answer(VERDICTS, "", "verdict"),)
        if self.returns == 1:
            return returned_value()
        return tuple(Answer(f"{RETURN}.{place}", "", "value") for place in range(self.returns))

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The arguments of the learner's function, in order."""
        return tuple(self.inputs)

    @property
    def samplers(self) -> dict[str, Sampler]:
        """The sampled arguments, by name."""
        return samplers_of(self.inputs)


Declaration = Exercise | Routine


def samplers_of(inputs: Mapping[str, Argument | tuple[Sampler, ...]]) -> dict[str, Sampler]:
    """The arguments that are sampled, without the markers; the arrays of a list as `ws[0]`, `ws[1]`, ..."""
    samplers: dict[str, Sampler] = {}
    for name, given in inputs.items():
        if isinstance(given, Sampler):
            samplers[name] = given
        elif isinstance(given, tuple):
            samplers |= {f"{name}[{place}]": sampler for place, sampler in enumerate(given)}
    return samplers


def is_differentiable(argument: Argument | None) -> bool:
    """The argument is a floating-point array that gradients can be taken with respect to."""
    return (
        argument.differentiable if isinstance(argument, Sampler) else argument is not None and argument.role == "step"
    )


def specs_of(declaration: Declaration) -> tuple[str, ...]:
    """The axis specs of every array argument that is drawn."""
    return tuple(sampler.spec for sampler in declaration.samplers.values() if sampler.spec)


def sizes_of(declaration: Declaration) -> dict[str, tuple[int, ...]]:
    """The sizes that an axis may have, where not every one will do."""
    return {axis: sizes for sampler in declaration.samplers.values() for axis, sizes in sampler.sizes.items()}


def _check_common(declaration: Declaration) -> None:
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
