"""Exercises of unit 09: normalisation, in which every entry looks at its neighbours."""

from functools import wraps

from handgrad import Exercise, Misconception, Sampler, in_steps, indices, normal, output, positive, sized, step, stored

_EPS = 1e-5
_SEVERAL = (4, 5, 6, 7)  # with two or three entries a variance is mostly an accident


def _standardized(inp):
    """out = (inp - mean) / (var + 1e-5).sqrt(), mean and biased var over the last axis"""
    centred = inp - inp.mean(-1, keepdim=True)
    return centred / ((centred**2).mean(-1, keepdim=True) + _EPS).sqrt()


def _batchnorm(inp, gamma, beta):
    """out = gamma * (inp - mean) / (var + 1e-5).sqrt() + beta, mean and biased var over the batch"""
    centred = inp - inp.mean(0)
    inv = ((centred**2).mean(0) + _EPS) ** -0.5
    return gamma * (centred * inv) + beta


def _layernorm(inp, gamma, beta):
    """out = gamma * (inp - mean) / (var + 1e-5).sqrt() + beta, mean and biased var over the last axis"""
    centred = inp - inp.mean(-1, keepdim=True)
    inv = ((centred**2).mean(-1, keepdim=True) + _EPS) ** -0.5
    return gamma * (centred * inv) + beta


def _groupnorm(inp, gamma, beta, groups):
    """out = gamma[:, None] * hat + beta[:, None], hat being inp standardized in each group of channels"""
    grouped = inp.reshape(len(inp), groups, -1)
    centred = grouped - grouped.mean(-1, keepdim=True)
    inv = ((centred**2).mean(-1, keepdim=True) + _EPS) ** -0.5
    return gamma.unsqueeze(-1) * (centred * inv).reshape(inp.shape) + beta.unsqueeze(-1)


def _number_of_groups(_rng, setting, _shape):
    """Each divisor of the number of channels in turn, but for 1 and that number itself."""
    channels = setting.sizes["c"]
    proper = [groups for groups in range(2, channels) if channels % groups == 0]
    return proper[setting.turn % len(proper)] if proper else channels


def _through_hat(inv, hat, hat_g):
    """The gradient of a row that is standardized, from that of hat; the wrong inv and hat are the learner's."""
    return inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))


def _part(rule, place):
    """The rule for one of two gradients that a rule returns."""
    return wraps(rule)(lambda **given: rule(**given)[place])


def _by_root_of_std(inp, gamma, out_g):
    """`inp.g` and `gamma.g` of layer norm where std stands for var in (var + 1e-5) ** -0.5."""
    inv = (inp.std(-1, unbiased=False, keepdim=True) + _EPS) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    return _through_hat(inv, hat, out_g * gamma), (out_g * hat).sum((0, 1))


def _in_other_groups(count):
    """A rule for `inp.g` and `gamma.g` of group norm with another number of groups, made of that of channels."""

    def rule(inp, gamma, out_g, groups):
        x = inp.reshape(len(inp), count(inp.shape[1], groups), -1)
        inv = (x.var(-1, unbiased=False, keepdim=True) + _EPS) ** -0.5
        hat = (x - x.mean(-1, keepdim=True)) * inv
        inp_g = _through_hat(inv, hat, (out_g * gamma.unsqueeze(-1)).reshape(x.shape))
        return inp_g.reshape(inp.shape), (out_g * hat.reshape(inp.shape)).sum((0, 2))

    return rule


_OTHER_GROUPS = (
    (lambda channels, groups: channels // groups,
     "groups is taken for the number of channels in a group: it is the number of groups"),
    (lambda channels, groups: channels,
     "each channel is standardized by itself, as in instance norm: the channels of a group share mean and variance"),
)  # fmt: skip


embedding_grad = Exercise(
    title="Looking up rows of a table, backwards",
    forward=lambda idx, w: w[idx],
    inputs={"idx": indices("bs t", "v"), "w": normal("v n"), "out": output()},
    answers=stored("w.g"),
    hints={
        "w.g": (
            "A word may stand in two sentences, or nowhere. What is the gradient of its row in each case?",
            "Start from zeros in the shape of w. Each of the bs times t places brings its row of out.g to one of them.",
            "Bring it by adding. Where a row is named twice, an assignment through idx keeps one of the two.",
        ),
    },
)

standardize_grad = Exercise(
    title="Standardizing each row, backwards",
    forward=_standardized,
    inputs={"inp": sized(normal("bs n"), n=_SEVERAL), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Raise one entry of a row. Along which three paths does the row's output hear of it?",
            "Directly; through the mean, which every entry has subtracted; and through the width, which all divide by.",
            "From out.g take its mean, and take out times the mean of what you get from out.g and out together.",
        ),
    },
)

batchnorm_steps_grad = Exercise(
    title="Batch norm, backwards, step by step",
    forward=in_steps(
        mean=lambda inp: inp.mean(0),
        centred=lambda inp, mean: inp - mean,
        var=lambda centred: (centred**2).mean(0),
        inv=lambda var: (var + _EPS) ** -0.5,
        hat=lambda centred, inv: centred * inv,
        out=lambda gamma, hat, beta: gamma * hat + beta,
    ),
    inputs={
        "inp": sized(normal("bs n"), bs=_SEVERAL),
        "gamma": normal("n"),
        "beta": normal("n"),
        "mean": step("n"),
        "centred": step("bs n"),
        "var": step("n"),
        "inv": step("n"),
        "hat": step("bs n"),
        "out": output(),
    },
    answers=stored("hat.g", "gamma.g", "beta.g", "inv.g", "var.g", "centred.g", "mean.g", "inp.g"),
    hints={
        "hat.g": (
            "Look at the last step only. What was hat multiplied by?",
            "gamma has one entry for each column, and every row of that column used it.",
            "One product; broadcasting gives each column its own factor.",
        ),
        "gamma.g": (
            "What was gamma multiplied by in the last step, and in how many rows?",
            "Multiply entry by entry, with its partner of the forward product.",
            "Then add the rows: one gamma served the whole batch.",
        ),
        "beta.g": (
            "How often was one entry of beta added?",
            "Once in every row, at the rate 1.",
            "It is the bias of unit 4 once more.",
        ),
        "inv.g": (
            "hat is a product. Who is inv's partner in it?",
            "inv has one entry for each column, so a whole column of contributions arrives at it.",
            "Use hat.g, which you have; multiply with the partner, then add the rows.",
        ),
        "var.g": (
            "inv is a power of var. What becomes of the exponent -1/2?",
            "The slope of x ** -0.5 has the exponent -1.5, which inv can give you without var.",
            "One half, a minus, inv three times, and what arrived at inv.",
        ),
        "centred.g": (
            "In which two steps is centred used?",
            "As a factor of hat, and squared under the mean that gives var. Two contributions: add them.",
            "The second: var.g is one row; each entry gets its share of the mean, and the square brings its 2.",
        ),
        "mean.g": (
            "Raise the mean by 0.001. Which way does centred go?",
            "One mean was subtracted in every row.",
            "The sign of the difference, and the sum over the rows. (Look at the numbers: what do you notice?)",
        ),
        "inp.g": (
            "In which two steps is inp used?",
            "Directly in the difference, at the rate 1, and in the mean, with a share of one in bs.",
            "centred.g as it is, and mean.g shared out among the rows.",
        ),
    },
)

batchnorm_grad = Exercise(
    title="Batch norm, backwards, in closed form",
    forward=_batchnorm,
    inputs={
        "inp": sized(normal("bs n"), bs=_SEVERAL),
        "gamma": normal("n"),
        "beta": normal("n"),
        "out": output(),
    },
    answers=stored("inp.g", "gamma.g", "beta.g"),
    hints={
        "inp.g": (
            "It is standardize_grad, with two changes: another axis, and a gamma. Where does gamma come in?",
            "What arrives at hat is no longer out.g. Work that out first, and forget out.g from there on.",
            "Take away its mean over the batch, and hat times its mean product with hat; then scale as forward did.",
        ),
        "gamma.g": (
            "What was gamma multiplied by: inp, or something that was made from it?",
            "You need the standardized values again; out holds them, but stretched and moved.",
            "Partner times out.g, added over the axis that gamma does not have.",
        ),
        "beta.g": (
            "At what rate does out rise with beta?",
            "One beta served every row of the batch.",
            "The axis that numbers the examples disappears.",
        ),
    },
)

_OF_BATCH = "mean and variance are those of the batch, and must be the running ones that come in"
_WHOSE_STATISTICS = ("Two of the arguments were collected in training. Where do you use them?",)
batchnorm_eval_grad = Exercise(
    title="Batch norm with running statistics, backwards",
    forward=lambda inp, gamma, beta, mean, var: gamma * (inp - mean) / (var + _EPS).sqrt() + beta,
    inputs={
        "inp": normal("bs n"),
        "gamma": normal("n"),
        "beta": normal("n"),
        "mean": normal("n"),
        "var": positive("n"),
        "out": output(),
    },
    answers=stored("inp.g", "gamma.g", "beta.g"),
    hints={
        "inp.g": (
            "Nudge one entry of inp. Do mean and var move, when they are handed in?",
            "No other row hears of it, and neither does any other column: it is a straight line in inp.",
            "The slope of that line, column by column, times what arrives.",
        ),
        "gamma.g": (
            "What was gamma multiplied by?",
            "The standardized input, made with the mean and var that you are given, not with the batch's own.",
            "Partner times out.g, added over the batch.",
        ),
        "beta.g": (
            "Does anything change for beta, whatever the statistics are?",
            "It is added once in every row.",
            "The axis that numbers the examples disappears.",
        ),
    },
    misconceptions=(
        Misconception("wrong-point", "inp.g",
                      lambda inp, gamma, out_g: out_g * gamma * (inp.var(0, unbiased=False) + _EPS) ** -0.5,
                      _OF_BATCH, _WHOSE_STATISTICS),
        Misconception("wrong-point", "gamma.g",
                      lambda inp, out_g: (
                          out_g * (inp - inp.mean(0)) * (inp.var(0, unbiased=False) + _EPS) ** -0.5
                      ).sum(0),
                      _OF_BATCH, _WHOSE_STATISTICS),
    ),
)  # fmt: skip

layernorm_grad = Exercise(
    title="Layer norm, backwards",
    forward=_layernorm,
    inputs={
        "inp": sized(normal("bs t n"), n=_SEVERAL),
        "gamma": normal("n"),
        "beta": normal("n"),
        "out": output(),
    },
    answers=stored("inp.g", "gamma.g", "beta.g"),
    hints={
        "inp.g": (
            "Which entries share a mean here, and which did in batch norm?",
            "gamma differs from entry to entry of a row now. So is it inside the means that you subtract, or outside?",
            "First what arrives at hat. Then standardize_grad of that, with keepdim along the last axis.",
        ),
        "gamma.g": (
            "How many rows use one entry of gamma? Count all of them.",
            "The means run over n, but gamma is shared over bs and t.",
            "Partner times out.g, added over every axis that gamma does not have.",
        ),
        "beta.g": (
            "How many rows use one entry of beta? Count all of them.",
            "If an axis t is left over, only one of the two leading axes has been summed.",
            "Only the last axis of out.g may remain.",
        ),
    },
    misconceptions=tuple(
        Misconception("wrong-operand", answer,
                      _part(_by_root_of_std, place),
                      "the standard deviation is under the power of -0.5, where the variance belongs: "
                      "the root is taken twice",
                      ("Of a row that is twice as wide, how large is hat?",))
        for place, answer in enumerate(("inp.g", "gamma.g"))
    ),
)  # fmt: skip

rmsnorm_grad = Exercise(
    title="RMS norm, backwards",
    forward=lambda inp, gamma: gamma * inp / ((inp**2).mean(-1, keepdim=True) + _EPS).sqrt(),
    inputs={"inp": sized(normal("bs n"), n=_SEVERAL), "gamma": normal("n"), "out": output()},
    answers=stored("inp.g", "gamma.g"),
    hints={
        "inp.g": (
            "Compare it with layer norm. Which step is not there any more, and which path with it?",
            "Two paths are left: each entry directly, and through the root that the whole row is divided by.",
            "What arrives at the quotient, less the quotient times the mean of their product; then scale.",
        ),
        "gamma.g": (
            "What was gamma multiplied by?",
            "The row after the division, and it is shared by every row of the batch.",
            "Partner times out.g, added over the batch.",
        ),
    },
)

groupnorm_grad = Exercise(
    title="Group norm, backwards",
    forward=_groupnorm,
    inputs={
        "inp": sized(normal("bs c l"), c=(6, 8), l=_SEVERAL),  # of 4 channels groups are as many as long
        "gamma": normal("c"),
        "beta": normal("c"),
        "out": output(),
        "groups": Sampler("", _number_of_groups),
    },
    answers=stored("inp.g", "gamma.g", "beta.g"),
    hints={
        "inp.g": (
            "How many entries share one mean? Count channels of a group, and places.",
            "Bring everything into the shape (bs, groups, entries of a group); there it is standardize_grad.",
            "gamma comes first, at the shape (bs, c, l), for its entries differ inside a group. Then group, then back.",
        ),
        "gamma.g": (
            "gamma has one entry for each channel. Which axes does it not have?",
            "Its partner is the standardized input, brought back to (bs, c, l).",
            "Partner times out.g, added over examples and places.",
        ),
        "beta.g": (
            "How often is one entry of beta added?",
            "Once for every example and every place.",
            "Only the axis c of out.g may remain.",
        ),
    },
    misconceptions=tuple(
        Misconception("summed-wrong-axis", answer, _part(_in_other_groups(count), place), says,
                      ("Into how many rows is one example cut, and how many channels does each of them have?",))
        for count, says in _OTHER_GROUPS
        for place, answer in enumerate(("inp.g", "gamma.g"))
    ),
)  # fmt: skip
