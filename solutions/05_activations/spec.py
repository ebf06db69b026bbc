"""Exercises of unit 05: activations, entry by entry."""

from grader.exercise import Exercise, Misconception, stored
from grader.sampling import away_from, output

relu_grad = Exercise(
    title="ReLU, backwards",
    forward=lambda inp: inp.clamp_min(0),
    inputs={"inp": away_from(0.0, "..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge a positive entry, then a negative one. Which of the two moves out?",
            "The local derivative is a mask: some gates are open and pass out.g on, the others block it.",
            "Make the mask from inp, never from the sign of out.g, and multiply; write into no tensor you were given.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "inp.g",
            lambda inp, out_g: out_g.clamp_min(0) * (inp > 0),
            says="negative entries of out.g are blocked as well, though their gate is open",
            hints=("May a loss react to an output at a negative rate?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, out_g: out_g * inp.sign(),
            says="closed entries pass out.g with a minus, where they should pass nothing",
            hints=("Nudge a negative entry: does out fall, or stay where it is?",),
        ),
    ),
)
