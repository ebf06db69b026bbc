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


def _smooth_cross_entropy(inp, targ, eps):
    """loss = -(truth * inp.log_softmax(-1)).sum(-1).mean(), truth = (1 - eps) * one_hot(targ) + eps / c"""
    truth = (1 - eps) * _truth(inp, targ) + eps / inp.shape[-1]
    return -(truth * inp.log_softmax(-1)).sum(-1).mean()


def _svm(inp, targ):
    """loss = the sum over the wrong classes of (inp - inp of the right class + 1).clamp_min(0), mean over the batch"""
    margins = inp - inp.gather(1, targ.unsqueeze(-1)) + 1
    return ((1 - _truth(inp, targ)) * margins.clamp_min(0)).sum(-1).mean()


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
    inputs={"inp": Sampler("bs c", _log_probabilities, differentiable=True, exact=_EQUAL), "targ": indices("bs", "c")},
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
)

smooth_cross_entropy_grad = Exercise(
    title="Smooth cross-entropy, backwards",
    forward=_smooth_cross_entropy,
    inputs={"inp": normal("bs c"), "targ": indices("bs", "c"), "eps": number(0.05, 0.3)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "What does the truth of one row look like now, written out as c numbers? What do they add up to?",
            "Only the truth is another one. Did the derivation of cross_entropy_grad need it to be 0 and 1?",
            "Belief less truth once more: eps shared out evenly, the rest on top at the right class; then the mean.",
        ),
    },
)

bce_grad = Exercise(
    title="Binary cross-entropy of probabilities, backwards",
    forward=lambda inp, targ: -(targ * inp.log() + (1 - targ) * (1 - inp).log()).mean(),
    inputs={"inp": uniform("bs", 0.1, 0.9), "targ": uniform("bs", 0.0, 1.0)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Two logarithms, so two paths. On which of them does a larger inp make the loss larger?",
            "A logarithm's factor is one over its argument; the second argument falls when inp rises.",
            "Here inp is a probability already: no sigmoid's slope is there to cancel the denominators.",
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
            "Write it as steps: sigmoid, two logarithms, mean. On how many paths does inp reach the loss?",
            "The slope of sigmoid cancels what the logarithms bring. Do the algebra before you type.",
            "What is left is as short as for cross-entropy: belief less truth, and the mean's factor.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, targ: (inp.softmax(0) - targ) / len(inp),
            says="this is a softmax over the batch: the examples share one probability among them",
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
            "wrong-factor",
            "inp.g",
            lambda inp, targ: -targ * (targ * inp < 1) / (targ * inp < 1).sum().clamp_min(1),
            says="it is divided by the number of examples that have a loss, and not by the number of all",
            hints=("Over how many numbers does this mean run? Do the zeros count?",),
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
            "Which wrong classes of a row have a say: all, or those that come nearer than 1 to the right one?",
            "Each of them pushes its own score down. And what does each of them do to the score of the right class?",
            "A mask of those that count; at the right class, less how many there are; and the mean's factor.",
        ),
    },
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
)
