"""The picture of `docs/architecture.md`: the packages of grader/, who asks whom, and the two processes."""

from __future__ import annotations

from grader.rendering.svg_drawing import SvgDrawing

FRONT_ENDS = (
    (("cli", "handgrad ..."), ("nbgrader", "its commands"), ("export", "other platforms"),
     ("classroom", "a whole class")),
    (("learner", "pytest, hints"), ("explain", "anybody's own code"),
     ("authoring", "audit, derived files"), ("rendering", "text, pages, pictures")),
)  # fmt: skip
WIDTH, HEIGHT, LEFT, RIGHT, GAP = 198, 50, 24, 876, 20
Point = tuple[float, float]


def packages() -> SvgDrawing:
    """Draw the packages from the front ends down to the child, with the steps of `The path of one w.g` as numbers."""
    picture = SvgDrawing(
        900,
        520,
        "The packages of grader",
        "Front ends ask judging. Judging asks diagnosis, reference, quiz and sandbox; diagnosis asks program "
        "and reference. Sandbox sends a job of bytes to child, in another process where learner code runs, "
        "and gets back facts such as arrays and exceptions, never a verdict.",
    )
    for row, boxes in enumerate(FRONT_ENDS):
        width = (RIGHT - LEFT + GAP) / len(boxes) - GAP
        for column, (name, says) in enumerate(boxes):
            _package(picture, (LEFT + column * (width + GAP), 44 + row * 62), width, name, says)
    picture.text(LEFT, 30, "front ends: for learners, instructors, authors", "faint small", "start")
    _package(picture, (LEFT, 206), RIGHT - LEFT, "judging", "one submission in, one result out")
    for x in (150, 276, 450, 624):
        picture.arrow((x, 160), (x, 202), "forward")
    _package(picture, (LEFT, 306), WIDTH, "diagnosis", "which mistake it is")
    _package(picture, (LEFT + 218, 306), WIDTH, "quiz", "questions and formulas")
    _package(picture, (598, 306), 278, "sandbox", "worker processes, isolation")
    for x in (123, 341, 630):
        picture.arrow((x, 260), (x, 302), "forward")
    _package(picture, (LEFT, 406), 158, "program", "the pass, rewritten")
    _package(picture, (LEFT + 178, 406), 158, "reference", "trials, right answers")
    _package(picture, (LEFT + 356, 406), 82, "course", "declared")
    _package(picture, (LEFT + 452, 406), 82, "results", "records")
    for x in (103, 212):
        picture.arrow((x, 360), (x, 402), "forward")
    picture.arrow((232, 260), (232, 402), "forward")
    picture.arrow((360, 431), (378, 431), "forward")
    _other_process(picture)
    for number, place in STEPS:
        _step(picture, number, place)
    legend = "Arrows lead from who asks to who is asked; the numbers are the steps of one w.g."
    picture.text(LEFT, 500, legend, "faint small", "start")
    return picture


def _package(picture: SvgDrawing, corner: Point, width: float, name: str, says: str) -> None:
    (x, y), middle = corner, corner[0] + width / 2
    picture.box(x, y, width, HEIGHT)
    picture.text(middle, y + 21, name, "code")
    picture.text(middle, y + 39, says, "faint small")


def _other_process(picture: SvgDrawing) -> None:
    """Draw the child behind the border of its process, and the bytes that cross it."""
    picture.box(582, 392, 310, 92, "line", 8)
    _package(picture, (598, 426), 278, "child", "runs learner code")
    picture.text(737, 412, "another process", "faint small")
    picture.arrow((652, 360), (652, 422), "forward")
    picture.arrow((822, 422), (822, 360), "backward")
    picture.text(660, 380, "code, inputs", "forward-fill small", "start")
    picture.text(814, 380, "facts", "backward-fill small", "end")


STEPS: tuple[tuple[str, Point], ...] = (
    ("1", (210, 119)), ("2", (76, 231)), ("3", (616, 331)), ("4", (616, 451)), ("5", (858, 331)),
    ("6", (42, 231)), ("7", (42, 331)), ("8", (864, 119)),
)  # fmt: skip


def _step(picture: SvgDrawing, number: str, place: Point) -> None:
    x, y = place
    picture.parts.append(f'<circle cx="{x}" cy="{y}" r="10" class="marked"/>')
    picture.text(x, y + 4, number, "small")
