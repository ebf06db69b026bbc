"""Exercises of unit 06: losses, where the backward pass begins."""

from handgrad import (
    Exercise,
    Misconception,
    Sampler,
    away_from,
    indices,
    normal,
    number,
    output,
    signs,
    stored,
    tried,
    uniform,
)

# Ties among the log-probabilities; that a row of them no longer adds up to 1 makes no gradient another one.
_EQUAL = ((-3.0, -2.0, -1.0, -0.5),)


def _log_probabilities(rng, _setting, shape):
    """Return logarithms of positive numbers that add up to 1 in each row."""
    import numpy as np

    scores = np.exp(rng.standard_normal(shape))
    return np.log(scores / scores.sum(-1, keepdims=True)).astype("float32")


def _nll(inp, targ):
    """loss = -inp[range(bs), targ].mean()"""
    bs = len(targ)
    return -inp[range(bs), targ].mean()


def _cross_entropy(inp, targ):
    """loss = (inp.logsumexp(-1) - inp[range(bs), targ]).mean()"""
    bs = len(targ)
    return (inp.logsumexp(-1) - inp[range(bs), targ]).mean()


def _truth(inp, targ):
    """Return the one-hot target, 1 at the right class of each row, else 0; shape: (bs, c)."""
    return inp.new_zeros(inp.shape).scatter(1, targ.unsqueeze(-1), 1.0)


def _softmax_less_truth(inp, targ):
    """Return softmax probabilities minus the one-hot target; shape: (bs, c)."""
    return inp.softmax(-1) - _truth(inp, targ)


def _softmax_backwards(inp, out_g):
    """Return the gradient at the logits from that at the probabilities; shape: (bs, c)."""
    prob = inp.softmax(-1)
    return prob * (out_g - (prob * out_g).sum(-1, keepdim=True))


def _binary_cross_entropy(inp, targ):
    """loss = -(targ * prob.log() + (1 - targ) * (1 - prob).log()).mean(), prob = inp.sigmoid()"""
    prob = inp.sigmoid()
    return -(targ * prob.log() + (1 - targ) * (1 - prob).log()).mean()


def _smooth_cross_entropy(inp, targ, eps):
    """loss = -(truth * inp.log_softmax(-1)).sum(-1).mean(), truth = (1 - eps) * one_hot(targ) + eps / c"""
    right = _truth(inp, targ)
    truth = (1 - eps) * right + eps / inp.shape[-1]
    return -(truth * inp.log_softmax(-1)).sum(-1).mean()


def _svm(inp, targ):
    """loss = the sum over the wrong classes of (inp - inp of the right class + 1).clamp_min(0), mean over the batch"""
    own = inp.gather(1, targ.unsqueeze(-1))
    margins = inp - own + 1
    right = _truth(inp, targ)
    wrong = 1 - right
    return (wrong * margins.clamp_min(0)).sum(-1).mean()


def _svm_slopes(inp, targ, right):
    """Return 1 for each wrong class that contributes, else 0, and a number for the right class; shape: (bs, c)."""
    truth = _truth(inp, targ)
    margins = inp - inp.gather(1, targ.unsqueeze(-1)) + 1
    return (margins > 0) * (1 - truth) + right * truth


mse_grad = Exercise(
    title="Mean squared error, backwards",
    forward=lambda inp, targ: (inp.squeeze(-1) - targ).pow(2).mean(),
    inputs={"inp": normal("bs 1"), "targ": normal("bs")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "There are four steps: squeeze, difference, square, mean. What is the derivative of each?",
            "There is no `out.g`: the derivative of the loss with respect to itself is 1, so begin with the factor of "
            "the mean.",
            "Multiply the factors of all steps; write down the shapes before you subtract, and restore the axis that "
            "squeeze "
            "dropped.",
        ),
    },
    misconceptions=(
        Misconception(
            "extra-batch-sum",
            "inp.g",
            lambda inp, targ: 0 * inp + 2 * (inp.squeeze(-1) - targ).mean() / len(inp),
            says="all entries are the same: the gradient itself was averaged over the batch",
            hints=("The loss is averaged, not the gradient. How many predictions are there, and how many gradients?",),
        ),
        Misconception(
            "extra-batch-sum",
            "inp.g",
            lambda inp, targ: 0 * inp + 2 * (inp.squeeze(-1) - targ).mean(),
            says="all entries are the same: the average of 2(inp - targ) over the batch",
            hints=("The loss is averaged, not the gradient. How many predictions are there, and how many gradients?",),
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
            "Each example has `c` predictions. Over how many squares is this mean taken?",
            "There are three steps: difference, square, mean. Only the factor that the mean brings differs from "
            "`mse_grad`.",
            "`mean()` without an argument runs over every entry of every row; divide by the number of entries of "
            "`inp`.",
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
            "Nudge one prediction by 0.001. Does the change of the sum depend on how many others there are?",
            "There are three steps: difference, square, sum. What is the derivative of a sum?",
            "Every term of a sum has the derivative 1. Which factor does the square bring, and which exponent remains?",
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
            "Raise one entry of a row. Which entries of `out` move, and in which direction?",
            "All entries of the row move: the raised one gains what the others lose. Each of them contributes its "
            "`out.g`.",
            "Per row: take the average of `out.g` with `out` as weights, subtract it from `out.g`, then multiply by "
            "`out`.",
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
            "Raise every entry of a row by 0.001. By how much does `out` rise, and how much of it does each entry "
            "contribute?",
            "There are three steps: exp, sum, log. The derivative of the log is one over the sum of the row.",
            "The local derivatives are exponentials, normalized to sum to 1 in each row; `out.g` lacks the axis `c`, "
            "so add it first.",
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
            "Each output is its own input minus a logsumexp that the whole row shares. Which two paths does that make?",
            "On one path `out.g` is unchanged. On the other, the entries of `out.g` in a row add up at logsumexp.",
            "The sum of `out.g` over a row is multiplied by the softmax probabilities, which you can compute from"
            " `out`, and subtracted.",
        ),
    },
)

nll_grad = Exercise(
    title="Negative log-likelihood, backwards",
    forward=_nll,
    inputs={"inp": Sampler("bs c", _log_probabilities, differentiable=True, exact=_EQUAL), "targ": indices("bs", "c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "The loss uses one entry of each row. What happens if you nudge another one?",
            "All but `bs` entries of the gradient are zero. Does it matter how large the selected entries are?",
            "Start from zeros in the shape of `inp`; the entries selected by `targ` get the factor that the mean "
            "brings and the minus sign.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: _softmax_less_truth(inp, targ) / len(inp),
            says="this is the gradient of cross-entropy; inp holds log-probabilities already",
            hints=("What does this loss do to `inp` before it selects an entry? Does it contain a softmax?",),
        ),
    ),
)

cross_entropy_grad = Exercise(
    title="Cross-entropy, backwards",
    forward=_cross_entropy,
    inputs={"inp": normal("bs c"), "targ": indices("bs", "c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "The loss of a row is its logsumexp minus one of its entries. On which entries does each part depend?",
            "The first part depends on the whole row, and you know its gradient, the softmax; the second depends on "
            "one entry.",
            "Per row: the predicted probabilities minus the one-hot target. The mean over the examples adds one "
            "factor.",
        ),
    },
)

smooth_cross_entropy_grad = Exercise(
    title="Smooth cross-entropy, backwards",
    forward=_smooth_cross_entropy,
    inputs={"inp": normal("bs c"), "targ": indices("bs", "c"), "eps": number(0.05, 0.3)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "What is the smoothed target of one row, written out as `c` numbers? What is their sum?",
            "Only the target differs. Does the derivation of `cross_entropy_grad` need it to be 0 and 1?",
            "Take prediction minus target again, with `eps` spread evenly and the rest added at the right class; then "
            "take the mean.",
        ),
    },
    misconceptions=(
        Misconception(
            "overwritten",
            "inp.g",
            lambda inp, targ, eps: (
                (inp.softmax(-1) - (1 - eps) * _truth(inp, targ) - eps / inp.shape[-1] * (1 - _truth(inp, targ)))
                / len(inp)
            ),
            says="the target of the right class lacks the share of eps that every class has, so no row sums to 1",
            hints=("Add up the smoothed target of one row. Is the sum 1?",),
        ),
        Misconception(
            "wrong-factor",
            "inp.g",
            lambda inp, targ, eps: (1 - eps) * (inp.softmax(-1) - _truth(inp, targ)) / len(inp),
            says="the whole gradient is scaled down, the softmax as well; only the target must be smoothed",
            hints=(
                "Write out the smoothed target of one row. Which value has a wrong class?",
                "What does smoothing change: the prediction, the target, or both?",
            ),
        ),
        Misconception(
            "missing-path",
            "inp.g",
            lambda inp, targ, eps: (inp.softmax(-1) - (1 - eps) * _truth(inp, targ)) / len(inp),
            says="the target lacks the share of eps that every class has, so each of its rows sums to less than 1",
            hints=(
                "Add up the smoothed target of one row. Is the sum 1?",
                "Write out the smoothed target of one row. Which value has a wrong class?",
                "In which line does your code subtract that value?",
            ),
        ),
    ),
)

bce_grad = Exercise(
    title="Binary cross-entropy of probabilities, backwards",
    forward=lambda inp, targ: -(targ * inp.log() + (1 - targ) * (1 - inp).log()).mean(),
    inputs={"inp": uniform("bs", 0.1, 0.9), "targ": uniform("bs", 0.0, 1.0)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "There are two logarithms, so two paths. On which of them does a larger `inp` increase the loss?",
            "The derivative of a logarithm is one over its argument; the second argument falls when `inp` rises.",
            "Here `inp` is already a probability: add both paths, as no sigmoid cancels the denominators; then take "
            "the mean.",
        ),
    },
)

bce_logits_grad = Exercise(
    title="Binary cross-entropy, backwards",
    forward=_binary_cross_entropy,
    inputs={"inp": normal("bs"), "targ": uniform("bs", 0.0, 1.0)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Take the loss as steps: sigmoid, two logarithms, mean. Along how many paths does `inp` reach it?",
            "The derivative of sigmoid cancels the denominators of the logarithms. Simplify on paper before you write "
            "code.",
            "The result is as short as for cross-entropy: prediction minus target, times the factor from the mean.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: (inp.softmax(0) - targ) / len(inp),
            says="this is a softmax over the batch: the probabilities of all examples together add up to 1",
            hints=("Do the probabilities of different examples have to add up to 1?",),
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
            "For which examples does the loss not change at all when you nudge their score?",
            "Product, difference, relu, mean: one derivative for each, and that of relu is a mask.",
            "The mask depends on the input of the relu, not on `inp`; the derivative of the product is the other "
            "factor.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-point",
            "inp.g",
            lambda inp, targ: -targ * (targ * inp < 0) / len(inp),
            says="only misclassified examples count, but those correct by a margin below 1 have a loss too",
            hints=("What is the loss of an example with `targ * inp` = 0.5?",),
        ),
        Misconception(
            "wrong-factor",
            "inp.g",
            lambda inp, targ: -targ * (targ * inp < 1) / (targ * inp < 1).sum().clamp_min(1),
            says="the gradient is divided by the number of examples whose loss is not 0; it must be divided by bs",
            hints=("Over how many numbers is this mean taken? Are the zeros among them?",),
        ),
    ),
)

svm_grad = Exercise(
    title="The hinge loss of several classes, backwards",
    forward=_svm,
    inputs={"inp": tried(7, normal("bs c")), "targ": indices("bs", "c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Which wrong classes of a row contribute: all of them, or only those whose score plus 1 is larger "
            "than that of the right class?",
            "Each wrong class that contributes adds to the gradient of its own score. What does it add at the right"
            " class?",
            "Start from a mask of the wrong classes that contribute, with 0 at the right class; set the entry of the "
            "right class to minus their count; then multiply by the factor that the mean brings.",
        ),
    },
    misconceptions=(
        Misconception(
            "missing-path",
            "inp.g",
            lambda inp, targ: _svm_slopes(inp, targ, -1.0) / len(inp),
            says="the entry of the right class is -1 / bs in each row: it must be minus the number of wrong classes "
            "that contribute, divided by bs",
            hints=(
                "Several wrong classes of a row may contribute. How many times is the right class's score in their "
                "sum?",
            ),
        ),
        Misconception(
            "missing-path",
            "inp.g",
            lambda inp, targ: _svm_slopes(inp, targ, 1.0) / len(inp),
            says="the right class is treated as one of the wrong classes: its score is subtracted in each of their "
            "margins, and has no margin of its own",
            hints=("Nudge the score of the right class up. Which margins of its row change, and in which direction?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: _svm_slopes(inp, targ, -1 - _svm_slopes(inp, targ, 0.0).sum(-1, keepdim=True)) / len(inp),
            says="the right class is counted among the wrong classes that contribute: there its score minus the right "
            "score plus 1 is 1, but the right class has no margin",
            hints=(
                "Print your mask for one row. At how many classes is it 1, and how many of them are wrong classes?",
                "What is in your mask at the right class before you set its entry?",
            ),
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
            "Nudge one weight. Does the change of the penalty depend on the other weights?",
            "Square, sum, times `lam`: one derivative for each, and one of the three is 1.",
            "Which factor does the square bring down? The result has the shape of `w` and is proportional to `w`.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "w.g",
            lambda w, lam: 2 * (w + lam),
            says="lam is added to w; it must multiply it",
            hints=("If lam is twice as large, how much larger is the penalty, and how much larger is your gradient?",),
        ),
    ),
)
