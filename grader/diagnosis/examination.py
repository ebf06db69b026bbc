"""Exercises whose learner writes a test: which backward passes it is called with, and what its verdicts reveal.

A backward pass is source text, for it runs in a process that has nothing of the grader. Reading a spec imports neither
numpy nor torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any

from grader.course.exercise import Hints, Routine
from grader.course.sampling import BackwardPass, backward_passes

if TYPE_CHECKING:
    import torch

# What every backward pass promises: it is right at these sizes of the axes, the first named first, and at these scales
# and dtypes. A learner's test should hold it to the same.
SIZES = ((1, 3), (4, 4), (5, 7), (2, 2), (3, 1))
SCALES = ((1.0, "float32"), (1000.0, "float64"))
RELATIVE, OF_UPSTREAM = 1e-4, 1e-6  # how far a gradient may be off: of itself, and of the greatest upstream entry

COMPARING = ("uncalled", "unread", "uncompared", "sums", "first", "loose")  # the probes that hide wrong backward passes
CLOSELY = ("exact", "near-zero")  # and those that hide right ones

Blind = Mapping[str, tuple[str, str, str]]


def examination(
    title: str,
    forward: Callable[..., torch.Tensor],
    inputs: Mapping[str, str],
    rights: Sequence[tuple[str, str]],
    wrongs: Sequence[tuple[str, ...]],
    blind: Blind,
    hints: Hints,
) -> Routine:
    """Return an exercise whose learner writes a test of the backward pass of a function.

    The backward passes that the test is called with are, in this order: the right ones; the wrong ones; for each blind
    spot that a wrong one names, one that is wrong only outside of it; for each of several gradients, one that has this
    gradient alone wrong; those of `_probes`.

    Args:
        title: the title of the exercise.
        forward: takes the inputs by name; returns out, whose upstream gradient is in out.g.
        inputs: the axes of each input whose gradient the backward pass stores, such as {"x": "bs n"}; all inputs
            together have at most two names of axes.
        rights: for each right backward pass what is unusual about it, and its body: ("It sums in a loop", "x.g = ...");
            the first one is the lesson's.
        wrongs: for each wrong backward pass what is wrong, its body, and the blind spots of a test that can hide it,
            names of `blind` or gradients: ("It forgets the batch", "b.g = ...", "one-example", "b.g").
        blind: by name a blind spot of a test: a condition that holds in every call that such a test makes, the same in
            words, and a question for the learner: {"one-example": ("len(x) == 1", "It tries batches of one alone",
            "Which ...?")}.
        hints: three hints.
    """
    signature, gradients = ", ".join([*inputs, "out"]), tuple(f"{name}.g" for name in inputs)

    def backward_pass(body: str, *more: Any) -> BackwardPass:
        """Return a backward pass of the exercise with this body."""
        return BackwardPass(source_of("backward", signature, body), *more)

    right = dedent(rights[0][1]).strip()
    hiding = dict.fromkeys(spot for _, _, *spots in wrongs for spot in spots if spot in blind)
    given = [backward_pass(right, rights[0][0])]
    given += [backward_pass(body, says, "", CLOSELY) for says, body in rights[1:]]
    for says, body, *spots in wrongs:
        unread = [gradient for gradient in gradients if gradient in spots]  # says more than how gradients are compared
        first, second, *comparing = COMPARING
        probes = (first, second, *unread, *comparing, *(spot for spot in spots if spot not in unread))
        given.append(backward_pass(body, says, "", probes))
    for name in hiding:
        condition, says, hint = blind[name]
        wrong = "\n".join(f"    {gradient} = 3 * {gradient} + 1" for gradient in gradients)
        given.append(backward_pass(f"{right}\nif not ({condition}):\n{wrong}", says, name, (), hint))
    for lost in gradients if len(gradients) > 1 else ():
        given.append(backward_pass(f"{right}\n{lost} = 3 * {lost} + 1", f"Your test never compares {lost}", lost))
    given += [backward_pass(body, says, name, (), hint) for name, body, says, hint in _probes(right, gradients)]
    return Routine(
        title=title,
        inputs={"backward": backward_passes(*given)},
        reference=BreaksPromise(forward, tuple(inputs.items())),
        hints={"verdicts": hints},
        is_test=True,
    )


def source_of(name: str, signature: str, body: str) -> str:
    """Return the source of a Python function with this name, parameter list and body."""
    return f"def {name}({signature}):\n{indent(dedent(body).strip(), '    ')}\n"


def _probes(right: str, gradients: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Return backward passes that reveal, by whether a test accepts them, how the test compares gradients.

    One has gradients of which the sum alone is right: a test that compares sums accepts it. Others are wrong in all
    entries but the first, off by 20 %, or off by one rounding, which a test should accept.

    Args:
        right: the body of a right backward pass.
        gradients: the gradients that it stores, such as `"x.g"`.

    Returns:
        For each a tuple: its name, the body of the function, what it reveals about the test, and a question for the
        learner.
    """

    def each(change: str) -> str:
        """Return the right body with a change of each gradient, which is called G there, behind it."""
        return "\n".join([right, *(change.replace("G", gradient) for gradient in gradients)])

    names = " and ".join(gradients)
    return [
        (
            "uncalled",
            'raise RuntimeError("this backward pass does not work")',
            "Your test accepts even a backward pass that raises an error: it never calls `backward`, or it catches the"
            " error",
            "Where does your test call `backward`, and with which arguments?",
        ),
        (
            "unread",
            "pass",
            f"Your test never looks at {names}, so a backward pass that does nothing is accepted as well",
            "If `backward` does nothing at all, which line of your test fails?",
        ),
        (
            "sums",
            each("d = torch.arange(G.numel()).reshape(G.shape).to(G.dtype)\nG = G + d - d.mean()"),
            "Your test does not notice numbers in the wrong places; perhaps it compares only sums",
            "Which entry belongs to which? Can a sum tell?",
        ),
        (
            "first",
            each("G = torch.where(torch.arange(G.numel()).reshape(G.shape) == 0, G, 3 * G + 1)"),
            "Your test looks only at the first entry",
            "How does one compare all entries at once?",
        ),
        (
            "loose",
            each("G = 1.2 * G + 0.05"),
            "The comparison in your test accepts errors of 20 %",
            "How large an error is still accepted? How far off is a right answer that is rounded in another way?",
        ),
        (
            "exact",
            each("G = G * (1 + 4 * torch.finfo(G.dtype).eps)"),
            "Your test compares so strictly that the last digits decide, and these depend on the order of the"
            " operations",
            "Are two floats that should be equal always equal?",
        ),
        (
            "near-zero",
            each("G = G + 4 * torch.finfo(G.dtype).eps * G.abs().max()"),
            "Your test leaves no room for rounding where an entry is nearly 0, as allclose does with its default atol",
            "An entry of 1e-4 is the difference of two numbers near 1. By how much may it be off?",
        ),
        (
            "uncompared",
            each("G = 3 * G.flip(0) - 2"),
            f"Your test compares no entry of {names} with anything, so any numbers are accepted",
            "What should the entries be? In which two ways can you find out?",
        ),
    ]


@dataclass(frozen=True)
class BreaksPromise:
    """The reference of a test: a function that says whether a backward pass is wrong.

    Args:
        forward: the forward pass.
        inputs: each input's name and axes.
    """

    forward: Callable[..., torch.Tensor]
    inputs: tuple[tuple[str, str], ...]

    def __call__(self, backward: Callable[..., object]) -> int:
        """Return 1 if a backward pass stores wrong gradients or changes its arguments, at any size or scale; else 0."""
        return int(any(_is_broken(backward, call) for call in _calls(self.forward, self.inputs)))


@dataclass(frozen=True, eq=False)
class _Call:
    """The arguments of one call of a backward pass, and the right gradients.

    Args:
        inputs: the inputs by name.
        out: the output.
        out_g: its upstream gradient, shaped like it.
        gradients: the right gradient of each input, shaped like it.
    """

    inputs: Mapping[str, torch.Tensor]
    out: torch.Tensor
    out_g: torch.Tensor
    gradients: Mapping[str, torch.Tensor]


@lru_cache(16)  # all backward passes of an exercise are called with the same numbers
def _calls(forward: Callable[..., torch.Tensor], inputs: tuple[tuple[str, str], ...]) -> list[_Call]:
    """Return the calls by which a backward pass is judged: random inputs, output, upstream and right gradients each.

    There is one for each of `SIZES`, the sizes of the axes, and each of `SCALES`, a factor of the inputs and their
    dtype. They are cached: the same list, with the same numbers, each time.

    Args:
        forward: the forward pass.
        inputs: pairs of an input's name and its axes, such as ("x", "bs n").
    """
    import torch

    from grader.program.recording import record

    generator, calls = torch.Generator().manual_seed(15), []
    names = list(dict.fromkeys(axis for _, axes in inputs for axis in axes.split()))
    for sizes in SIZES:
        size = dict(zip(names, sizes, strict=True))
        for scale, dtype in SCALES:
            given = {
                name: (scale * torch.randn([size[axis] for axis in axes.split()], generator=generator)).to(
                    getattr(torch, dtype)
                )
                for name, axes in inputs
            }
            out = forward(**given)
            out_g = 3 * torch.randn(out.shape, generator=generator).to(out.dtype)
            right = record(forward, given, out_g).gradients()
            gradients = {name: torch.tensor(right[name], dtype=out.dtype) for name in given}
            calls.append(_Call(given, out, out_g, gradients))
    return calls


def _is_broken(backward: Callable[..., object], call: _Call) -> bool:
    """Return whether a backward pass stores wrong gradients or none in a call, changes its arguments, or cannot be run.

    It cannot be run if it raises a RuntimeError or an AttributeError; other exceptions are not caught.

    Args:
        backward: takes the inputs and the output, whose upstream gradient is in `out.g`; stores gradients as `x.g`.
        call: the inputs, the output and its upstream gradient, and the right gradients.
    """
    import torch

    given = {name: value.clone() for name, value in call.inputs.items()}
    out: Any = call.out.clone()
    out.g = out_g = call.out_g.clone()
    try:
        backward(*given.values(), out)
        stored = {name: value.g for name, value in given.items()}  # type: ignore[attr-defined]
    except (RuntimeError, AttributeError):
        return True
    before = [*call.inputs.values(), call.out, call.out_g]
    if out.g is not out_g or not all(map(torch.equal, before, [*given.values(), out, out_g])):
        return True
    room = OF_UPSTREAM * float(call.out_g.abs().max())
    return any(
        stored[name].shape != right.shape
        or stored[name].dtype != right.dtype
        or not torch.allclose(stored[name], right, RELATIVE, room)
        for name, right in call.gradients.items()
    )
