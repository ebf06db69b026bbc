"""What there is to see of a submission: the type of the fixture `see`, and finding in what it returns."""

from __future__ import annotations

from collections.abc import Callable

from grader.rendering.picture_data import ExercisePictures, Figure, Picture

See = Callable[..., ExercisePictures]


def picture(found: ExercisePictures, answer: str) -> Picture:
    """Return the picture of an answer."""
    return next(each for each in found.pictures if each.answer == answer)


def figure(found: ExercisePictures, answer: str, kind: str) -> Figure:
    """Return the first figure of a kind in the picture of an answer."""
    return next(each for each in picture(found, answer).figures if each.kind == kind)
