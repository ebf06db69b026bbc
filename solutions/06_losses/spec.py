"""Exercises of unit 06: losses, where the backward pass begins."""

from grader.exercise import Exercise, Misconception, stored
from grader.sampling import Sampler, away_from, indices, normal, number, output, signs, tried, uniform


def _log_probabilities(rng, _setting, shape):
    """Logarithms of positive numbers that add up to 1 in each row."""
    import numpy as np

    scores = np.exp(rng.standard_normal(shape))
    return np.log(scores / scores.sum(-1, keepdims=True)).astype("float32")


def _truth(inp, targ):
    """1 at the right class of each row, else 0; shape: (bs, c)"""
    return inp.new_zeros(inp.shape).scatter(1, targ.unsqueeze(-1), 1.0)


def _softmax_less_truth(inp, targ):
    """How far what the network believes is from what is true; shape: (bs, c)"""
    return inp.softmax(-1) - _truth(inp, targ)


def _softmax_backwards(inp, out_g):
    """The gradient at the logits, from one at the probabilities; shape: (bs, c)"""
    prob = inp.softmax(-1)
    return prob * (out_g - (prob * out_g).sum(-1, keepdim=True))


def _binary_cross_entropy(inp, targ):
    """loss = -(targ * prob.log() + (1 - targ) * (1 - prob).log()).mean(), prob = inp.sigmoid()"""
    prob = inp.sigmoid()
    return -(targ * prob.log() + (1 - targ) * (1 - prob).log()).mean()


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

mse_grad_nd = Exercise(
    title="Mean squared error of several outputs, backwards",
    forward=lambda inp, targ: (inp - targ).pow(2).mean(),
    inputs={"inp": normal("bs c"), "targ": normal("bs c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Each example has c predictions. Over how many squares does this mean run?",
            "Three steps: difference, square, mean. Only the factor of the mean differs from mse_grad.",
            "mean() without an argument takes every entry of every row; ask inp how many that is.",
        ),
    },
)

mse_sum_grad = Exercise(
    title="Summed squared error, backwards",
    forward=lambda inp, targ: (inp - targ).pow(2).sum(),
    inputs={"inp": normal("bs c"), "targ": normal("bs c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge one prediction by 0.001. Does it matter to the sum how many others there are?",
            "Difference, square, sum. What is the factor of a sum?",
            "Take the answer for the mean, and leave out what the mean put in.",
        ),
    },
)

softmax_grad = Exercise(
    title="Softmax, backwards",
    forward=lambda inp: inp.softmax(-1),
    inputs={"inp": normal("bs c"), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Raise one entry of a row. Which entries of out move, and in which direction?",
            "All of the row moves: the raised entry gains what the others lose. Every one of them brings its out.g.",
            "Per row: average out.g with out as weights, see how far each out.g lies from it, weigh with out.",
        ),
    },
)

logsumexp_grad = Exercise(
    title="Log-sum-exp, backwards",
    forward=lambda inp: inp.logsumexp(-1),
    inputs={"inp": normal("bs c"), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Raise every entry of a row by 0.001. By how much does out rise? How is that shared among the entries?",
            "Three steps: exp, sum, log. The log's factor is one over the row's sum.",
            "The shares are exponentials that add up to 1 in each row; out.g has no axis c yet, so give it one.",
        ),
    },
)

log_softmax_grad = Exercise(
    title="Log-softmax, backwards",
    forward=lambda inp: inp.log_softmax(-1),
    inputs={"inp": normal("bs c"), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Each output is its own input minus something that the whole row shares. Which two paths is that?",
            "On one path nothing happens to out.g. On the other, all of a row's out.g meet in logsumexp.",
            "What meets is added up, then handed out again in softmax's shares, with a minus; out knows the shares.",
        ),
    },
)

nll_grad = Exercise(
    title="Negative log-likelihood, backwards",
    forward=lambda inp, targ: -inp[range(len(targ)), targ].mean(),
    inputs={"inp": Sampler("bs c", _log_probabilities, differentiable=True), "targ": indices("bs", "c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "The loss looks at one entry in each row. What happens if you nudge another one?",
            "All but bs entries are zero. Does it matter how large the entry that was looked at is?",
            "Start from zeros in the shape of inp; the entries picked by targ get the mean's factor, and the minus.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: _softmax_less_truth(inp, targ) / len(inp),
            says="this is the gradient of cross-entropy; here inp holds log-probabilities already",
            hints=("What does this loss do to inp before it picks an entry? Is there a softmax in it?",),
        ),
        Misconception(
            "inverted-mask",
            "inp.g",
            lambda inp, targ: (_truth(inp, targ) - 1) / len(inp),
            says="the entries of the right classes are zero, and all others are not",
            hints=("Which entry of a row does the loss look at?",),
        ),
        Misconception(
            "broadcast-accident",
            "inp.g",
            lambda inp, targ: 0 * inp - _truth(inp, targ).amax(0) / len(inp),
            says="every row has an entry in the column of every class that any row has",
            hints=(
                "What does a colon in the first place of an index pick? How do you say: row i, with its own class?",
            ),
        ),
    ),
)

cross_entropy_grad = Exercise(
    title="Cross-entropy, backwards",
    forward=lambda inp, targ: (inp.logsumexp(-1) - inp[range(len(targ)), targ]).mean(),
    inputs={"inp": normal("bs c"), "targ": indices("bs", "c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Each row's loss is logsumexp of the row minus one entry of it. Which entries does either part move?",
            "The first part touches the whole row and you know its shares; the second touches one entry.",
            "Per row: what the network believes, less what is true. The mean over the examples adds one factor.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "inp.g",
            lambda inp, targ: (inp.softmax(-1) - (inp == inp.amax(-1, keepdim=True)) * 1.0) / len(inp),
            says="1 is subtracted where the network believes most, and not at the right class",
            hints=("Who says which class is right: the network, or targ?",),
        ),
        Misconception(
            "wrong-operand",
            "inp.g",
            lambda inp, targ: (inp.softmax(-1) - targ.unsqueeze(-1)) / len(inp),
            says="the number of the class is subtracted from every entry of its row",
            hints=("targ holds positions, not amounts. Which single entry of a row does it point to?",),
        ),
        Misconception(
            "diagonal-only",
            "inp.g",
            lambda inp, targ: _truth(inp, targ) * _softmax_less_truth(inp, targ) / len(inp),
            says="only the entry of the right class has a gradient",
            hints=("Raise a wrong class's logit: what happens to the probability of the right one?",),
        ),
        Misconception(
            "extra-factor",
            "inp.g",
            lambda inp, targ: _softmax_backwards(inp, _softmax_less_truth(inp, targ) / len(inp)),
            says="softmax is differentiated once more: belief less truth is the gradient at the logits already",
            hints=("At which variable is belief less truth the gradient: at the probabilities, or at the logits?",),
        ),
        Misconception(
            "broadcast-accident",
            "inp.g",
            lambda inp, targ: (inp.softmax(-1) - _truth(inp, targ).amax(0)) / len(inp),
            says="1 is subtracted in every row, in the column of every class that any row has",
            hints=(
                "What does a colon in the first place of an index pick? How do you say: row i, with its own class?",
            ),
        ),
        Misconception(
            "wrong-operand",
            "inp.g",
            lambda inp: (inp.softmax(-1) - 1) / len(inp),
            says="1 is subtracted from every entry, and not only at the right class",
            hints=("What is true of the wrong classes: which probability should they have?",),
        ),
        Misconception(
            "missing-local",
            "inp.g",
            lambda inp, targ: -_truth(inp, targ) / inp.softmax(-1) / len(inp),
            says="this is how the loss reacts to the probabilities; the softmax below them is left out",
            hints=("You are at the probabilities. Which operation made them from inp?",),
        ),
        Misconception(
            "forward-value",
            "inp.g",
            lambda inp, targ: -_truth(inp, targ) * inp.log_softmax(-1) / len(inp),
            says="each right class carries what its row adds to the loss, a value of the forward pass",
            hints=("How does the loss move when you nudge one logit? Do the other classes matter?",),
        ),
    ),
)

bce_logits_grad = Exercise(
    title="Binary cross-entropy, backwards",
    forward=_binary_cross_entropy,
    inputs={"inp": normal("bs"), "targ": uniform("bs", 0.0, 1.0)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Write it as steps: sigmoid, two logarithms, mean. On how many paths does inp reach the loss?",
            "The slope of sigmoid cancels what the logarithms bring. Do the algebra before you type.",
            "What is left is as short as for cross-entropy: belief less truth, and the mean's factor.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-point",
            "inp.g",
            lambda inp, targ: (inp - targ) / len(inp),
            says="the logits are compared with the targets; the sigmoid was not taken",
            hints=("Can a logit be 3? Can a probability?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: ((inp > 0) * 1.0 - targ) / len(inp),
            says="the decision, 0 or 1, stands where the probability belongs",
            hints=("Does a nudge of a logit move a decision? Does it move the probability?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: (inp.softmax(0) - targ) / len(inp),
            says="this is a softmax over the batch: the examples share one probability among them",
            hints=("Do the probabilities of different examples have to add up to 1?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: 2 * (inp.sigmoid() - targ) * inp.sigmoid() * (1 - inp.sigmoid()) / len(inp),
            says="this is the gradient of a squared error behind a sigmoid, not of the cross-entropy",
            hints=(
                "Which two functions of the probability does this loss take?",
                "What do the logarithms bring, and what does it do to the slope of the sigmoid?",
            ),
        ),
        Misconception(
            "wrong-operand",
            "inp.g",
            lambda inp, targ: (inp.sigmoid() - targ.sigmoid()) / len(inp),
            says="the sigmoid is taken of the targets too, but these are probabilities already",
            hints=("Which of the two is a logit: inp, targ, or both?",),
        ),
    ),
)

hinge_grad = Exercise(
    title="The hinge loss, backwards",
    forward=lambda inp, targ: (1 - targ * inp).clamp_min(0).mean(),
    # Few entries in each trial, and a wrong mask may differ only where targ * inp lies between 0 and 1.
    inputs={"inp": tried(9, away_from((-1.0, 0.0, 1.0), "bs")), "targ": signs("bs")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "For which examples does the loss not move at all when you nudge their score?",
            "Product, difference, relu, mean: one factor for each, and relu's is a mask.",
            "The mask looks at what went into the relu, not at inp; the product's factor is the partner of inp.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-point",
            "inp.g",
            lambda inp, targ: -targ * (targ * inp < 0) / len(inp),
            says="only the misjudged examples count, but those judged rightly by less than 1 have a loss too",
            hints=("What is the loss of an example with targ * inp = 0.5?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: -2 * targ * (1 - targ * inp).clamp_min(0) / len(inp),
            says="this is the gradient of the squared hinge loss",
            hints=("Is anything squared in this forward pass?",),
        ),
        Misconception(
            "wrong-factor",
            "inp.g",
            lambda inp, targ: -targ * (targ * inp < 1) / (targ * inp < 1).sum().clamp_min(1),
            says="it is divided by the number of examples that have a loss, and not by the number of all",
            hints=("Over how many numbers does this mean run? Do the zeros count?",),
        ),
    ),
)

l2_penalty_grad = Exercise(
    title="A penalty on large weights, backwards",
    forward=lambda w, lam: lam * (w**2).sum(),
    inputs={"w": normal("..."), "lam": number(0.1, 0.9)},
    answers=stored("w.g"),
    hints={
        "w.g": (
            "Nudge one weight. Do the other weights matter for how far the penalty moves?",
            "Square, sum, times lam: one factor for each, and one of the three is 1.",
            "What does the square bring down? The result has the shape of w, and large weights have large entries.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "w.g",
            lambda w, lam: lam * w / (w**2).sum() ** 0.5,
            says="this is the gradient of the norm itself, whose root was not asked for",
            hints=("Is a root taken in this forward pass?",),
        ),
        Misconception(
            "wrong-operand",
            "w.g",
            lambda w, lam: 2 * w + lam,
            says="lam is added, and not multiplied with",
            hints=("Is lam in front of the sum a factor or a summand? What does doubling lam do to the penalty?",),
        ),
    ),
)
