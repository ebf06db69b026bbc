"""How long it takes to name a mistake: `python benchmarks/searching.py [--rounds N]`.

Cold is the first wrong answer to an exercise, whose forward pass must be traced and every candidate made; warm is the
same answer again. Both are wall time of `find_mistakes` alone, without running the learner's code.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch

from grader.diagnosis.search import find_mistakes
from grader.exercise import Exercise, stored
from grader.reference.references import make_trials
from grader.reference.trial import Trial
from grader.sampling import normal, output

Slip = Callable[[dict[str, torch.Tensor]], torch.Tensor]
LINEAR = Exercise(
    "a linear layer",
    lambda inp, w, b: inp @ w + b,
    {"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")},
    stored("inp.g", "w.g", "b.g"),
)
ATTENTION = Exercise(
    "scaled dot-product attention, with projections",
    lambda inp, wq, wk, wv: ((inp @ wq) @ (inp @ wk).mT / wq.shape[-1] ** 0.5).softmax(-1) @ (inp @ wv),
    {"inp": normal("bs t n"), "wq": normal("n d"), "wk": normal("n d"), "wv": normal("n m"), "out": output()},
    stored("inp.g", "wq.g", "wk.g", "wv.g"),
)


def weights_of(v: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The weights of attention and the gradient of its scores."""
    scores = (v["inp"] @ v["wq"]) @ (v["inp"] @ v["wk"]).mT / v["wq"].shape[-1] ** 0.5
    weights = scores.softmax(-1)
    arriving = v["out_g"] @ (v["inp"] @ v["wv"]).mT
    return weights, weights * (arriving - (weights * arriving).sum(-1, keepdim=True))


def without_scale(v: Mapping[str, torch.Tensor]) -> torch.Tensor:
    _, scores_g = weights_of(v)
    return (v["inp"].mT @ (scores_g @ (v["inp"] @ v["wk"]))).sum(0)


def not_transposed(v: Mapping[str, torch.Tensor]) -> torch.Tensor:
    _, scores_g = weights_of(v)
    return (v["inp"].mT @ (scores_g @ (v["inp"] @ v["wq"]))).sum(0) / v["wq"].shape[-1] ** 0.5


SLIPS: Mapping[str, tuple[Exercise, str, Slip]] = {
    "lin_grad, negated": (LINEAR, "w.g", lambda v: -v["inp"].T @ v["out_g"]),
    "lin_grad, averaged over the batch": (LINEAR, "w.g", lambda v: v["inp"].T @ v["out_g"] / len(v["inp"])),
    "lin_grad, no upstream": (LINEAR, "inp.g", lambda v: torch.ones_like(v["out_g"]) @ v["w"].T),
    "lin_grad, first row only": (LINEAR, "b.g", lambda v: v["out_g"][0]),
    "lin_grad, nothing with a name": (LINEAR, "w.g", lambda v: (v["inp"].T @ v["out_g"]).sin()),
    "attention, sqrt(d) missing": (ATTENTION, "wq.g", without_scale),
    "attention, scores not transposed": (ATTENTION, "wk.g", not_transposed),
    "attention, nothing with a name": (ATTENTION, "wq.g", lambda v: without_scale(v).sin()),
}


def measured(exercise: Exercise, answer: str, slip: Slip, seed: int) -> tuple[float, float, str]:
    """Seconds of the first search and of the next, and the code that was found."""
    trials = make_trials(exercise, np.random.default_rng(seed))
    pairs = [(trial, numbers(slip, trial)) for trial in trials]
    times, found = [], ""
    for _ in range(2):
        started = time.perf_counter()
        found = find_mistakes(exercise, trials[0], {answer: pairs})[answer].code
        times.append(time.perf_counter() - started)
    return times[0], times[1], found


def numbers(slip: Slip, trial: Trial) -> np.ndarray:
    wrong = slip({**trial.inputs, "out": trial.out, "out_g": trial.out_g})
    return wrong.numpy().astype("float32").astype("float64")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)  # as in the grader
    print("| wrong answer | named | cold, median and most | warm, median |\n|---|---|---|---|")
    for name, (exercise, answer, slip) in SLIPS.items():
        measured(exercise, answer, slip, 0)  # what torch does once in a process
        found = [measured(exercise, answer, slip, seed) for seed in range(rounds)]
        cold, warm = ([1e3 * one[i] for one in found] for i in (0, 1))
        codes = " or ".join(sorted({one[2] for one in found}))
        first = f"{statistics.median(cold):.0f} ms, {max(cold):.0f} ms"
        print(f"| {name} | {codes} | {first} | {statistics.median(warm):.1f} ms |")


if __name__ == "__main__":
    main()
