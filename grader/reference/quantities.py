"""The sizes and plain numbers of a trial that a factor may come from."""

from __future__ import annotations

import itertools

from grader.course.sampling import Array

from .trial import Trial


def numbers(trial: Trial) -> dict[str, tuple[str, float]]:
    """What a factor may be made of: each argument that is a number, its inverse, and for a share what is left of 1."""
    found: dict[str, tuple[str, float]] = {}
    for name, q in trial.arguments.items():
        if type(q) is float and q:
            found |= {name: (name, q), f"1 / {name}": (name, 1 / q)}
            found |= {f"{name}**2": (name, q * q), f"1 / {name}**2": (name, 1 / q**2)}
            if 0 < q < 1:
                found |= {f"(1 - {name})": (name, 1 - q), f"1 / (1 - {name})": (name, 1 / (1 - q))}
                found |= {f"{name} / (1 - {name})": (name, q / (1 - q)), f"(1 - {name}) / {name}": (name, (1 - q) / q)}
                found |= {f"{name} * (1 - {name})": (name, q * (1 - q))}
    return found


def axes(trial: Trial) -> dict[str, int]:
    """The sizes of the named axes; of those without a name, the sizes of each array's axes."""
    return {axis: size for axis, size in trial.setting.sizes.items() if not axis.startswith("_")}


def quantities(trial: Trial) -> dict[str, int]:
    """Sizes a factor may come from: the axes, then products of two, then numbers of entries."""
    if "quantities" not in trial.memo:
        trial.memo["quantities"] = _quantities(trial)
    found: dict[str, int] = trial.memo["quantities"]
    return found


def _quantities(trial: Trial) -> dict[str, int]:
    used = axes(trial)
    arrays = {name: value.values for name, value in trial.arguments.items() if isinstance(value, Array)}
    left = 1 if trial.out is None else trial.out.numel()
    shapes = [array.shape for array in arrays.values()]
    return {
        **used,
        **{
            f"shape[{name}]": shapes[0][axis]
            for name, axis in trial.arguments.items()
            if type(axis) is int and shapes and -len(shapes[0]) <= axis < len(shapes[0])
        },
        **{name: value for name, value in trial.arguments.items() if type(value) is int and value > 0},
        **{f"{a} * {b}": m * n for (a, m), (b, n) in itertools.combinations(used.items(), 2)},
        **{f"{name}.numel()": array.size for name, array in arrays.items()},
        **{
            f"({name}.numel() / out.numel())": array.size // left
            for name, array in arrays.items()
            if array.size > left and array.size % left == 0
        },
    }
