"""Exercises of unit 06: losses, where the backward pass begins."""

from grader.exercise import Exercise, Misconception, stored
from grader.sampling import normal

mse_grad = Exercise(
    title="Mean squared error, backwards",
    forward=lambda inp, targ: (inp.squeeze(-1) - targ).pow(2).mean(),
    inputs={"inp": normal("bs 1"), "targ": normal("bs")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Four small steps: squeeze, difference, square, mean. One factor for each of them.",
            "There is no out.g: the loss reacts to itself at a rate of 1, so begin with the mean's factor.",
            "Write down the shapes before you subtract, and bring back the axis that squeeze dropped.",
        ),
    },
    misconceptions=(
        Misconception(
            "broadcast-accident",
            "inp.g",
            lambda inp, targ: 2 * (inp - targ).sum(1, keepdim=True) / len(inp),
            says="every prediction is compared with all targets, added up: (bs, 1) minus (bs,) is (bs, bs)",
            hints=("What is the shape of your difference? Print it.",),
        ),
        Misconception(
            "extra-batch-sum",
            "inp.g",
            lambda inp, targ: 0 * inp + 2 * (inp.squeeze(-1) - targ).mean() / len(inp),
            says="all entries are the same: the gradient itself was averaged over the batch",
            hints=("It is the loss that is reduced. How many predictions are there, and how many gradients?",),
        ),
        Misconception(
            "extra-batch-sum",
            "inp.g",
            lambda inp, targ: 0 * inp + 2 * (inp.squeeze(-1) - targ).mean(),
            says="all entries are the same: the average of 2(inp - targ) over the batch",
            hints=("It is the loss that is reduced. How many predictions are there, and how many gradients?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: 2 * (inp - targ.unsqueeze(-1)).pow(2) / len(inp),
            says="the difference is still squared, though the square's exponent has already come down",
            hints=("Can an entry of yours be negative? Should a prediction that is too low be raised or lowered?",),
        ),
        Misconception(
            "broadcast-accident",
            "inp.g",
            lambda inp, targ: 2 * (inp - targ) / len(inp),
            says="its shape is (bs, bs), every prediction minus every target: inp is (bs, 1), targ is (bs,)",
            hints=("Line up the two shapes from the right. Which axis is missing, and where?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: 2 * (inp - targ.unsqueeze(-1)).sign() / len(inp),
            says="only the sign of each difference is left",
            hints=("Should a prediction that is far off be pulled as strongly as one that is nearly right?",),
        ),
    ),
)
