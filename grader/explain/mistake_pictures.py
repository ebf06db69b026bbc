"""Pictures of the mistakes that `explain` has found, made when a notebook shows the explanation."""

from __future__ import annotations

from collections.abc import Sequence

from grader.course.shapes import guess_axes
from grader.rendering.figure_making import ComparedAnswer, figures
from grader.rendering.picture_data import Picture

from .verdicts import Finding, Verdicts, samples_of


def mistake_pictures(verdicts: Verdicts, findings: Sequence[Finding]) -> tuple[Picture, ...]:
    """Return the picture of each gradient that is wrong, in the run in which most are; those without a figure not.

    Args:
        verdicts: the judge of the gradients, with their arrays.
        findings: the verdicts.
    """
    failed = {finding.answer: finding for finding in findings if finding.status == "failed"}
    pictures = []
    for answer in verdicts.exercise.answers:
        runs = [run for run in verdicts.informative_runs if run.is_wrong(answer)]
        if answer.name not in failed or not runs:
            continue
        trial, yours, right = runs[0].trial, runs[0].with_torchs_choices(answer), runs[0].right(answer)
        if yours is None or yours.shape != right.shape:
            continue
        axes = trial.axes(answer.wrt) or guess_axes(right.shape, trial.setting.sizes)
        samples = [sample for sample in samples_of(runs, answer) if sample.has_shape]
        mistake = failed[answer.name].mistake
        if mistake is not None and mistake.cause in failed and mistake.cause != answer.name:
            continue
        compared = ComparedAnswer(verdicts.exercise, answer, trial, yours, right, "right", axes, samples, mistake)
        pictures.append(Picture(answer.name, figures=figures(compared)))
    return tuple(picture for picture in pictures if picture.figures)
