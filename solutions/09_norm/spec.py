"""Exercises of unit 09: normalization, in which every output depends on the statistics of its row or batch."""

from functools import wraps

from handgrad import (
    Exercise,
    Misconception,
    Sampler,
    in_steps,
    indices,
    normal,
    output,
    positive,
    sized,
    step,
    stored,
    taking_turns,
    uniform,
)

_SEVERAL = (4, 5, 6, 7)  # with two or three entries a variance is mostly an accident


def _standardized(inp):
    """out = centred / (var + 1e-5).sqrt(), centred = inp - mean, mean and biased var over the last axis"""
    mean = inp.mean(-1, keepdim=True)
    centred = inp - mean
    var = (centred**2).mean(-1, keepdim=True)
    return centred / (var + 1e-5).sqrt()


def _batchnorm(inp, gamma, beta):
    """out = gamma * (inp - mean) / (var + 1e-5).sqrt() + beta, mean and biased var over the batch"""
    mean = inp.mean(0)
    centred = inp - mean
    var = (centred**2).mean(0)
    inv = (var + 1e-5) ** -0.5
    hat = centred * inv
    return gamma * hat + beta


def _batchnorm_eval(inp, gamma, beta, mean, var):
    """out = gamma * (inp - mean) / std + beta, std = (var + 1e-5).sqrt()"""
    std = (var + 1e-5).sqrt()
    return gamma * (inp - mean) / std + beta


def _layernorm(inp, gamma, beta):
    """out = gamma * (inp - mean) / (var + 1e-5).sqrt() + beta, mean and biased var over the last axis"""
    mean = inp.mean(-1, keepdim=True)
    centred = inp - mean
    var = (centred**2).mean(-1, keepdim=True)
    inv = (var + 1e-5) ** -0.5
    hat = centred * inv
    return gamma * hat + beta


def _rmsnorm(inp, gamma):
    """out = gamma * inp / rms, rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()"""
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    return gamma * inp / rms


def _groupnorm(inp, gamma, beta, groups):
    """out = gamma[:, None] * hat + beta[:, None], hat being inp standardized in each group of channels"""
    grouped = inp.reshape(len(inp), groups, -1)
    mean = grouped.mean(-1, keepdim=True)
    centred = grouped - mean
    var = (centred**2).mean(-1, keepdim=True)
    inv = (var + 1e-5) ** -0.5
    hat = (centred * inv).reshape(inp.shape)
    return gamma[:, None] * hat + beta[:, None]


def _number_of_groups(_rng, setting, _shape):
    """Return each divisor of the number of channels in turn, except 1 and that number itself."""
    channels = setting.sizes["c"]
    proper = [groups for groups in range(2, channels) if channels % groups == 0]
    return proper[setting.turn % len(proper)] if proper else channels


def _through_hat(inv, hat, hat_g):
    """Return the gradient of a standardized row from that of hat; inv and hat may be a learner's wrong ones."""
    return inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))


def _part(rule, place):
    """Return the rule for one of the two gradients that a rule returns."""
    return wraps(rule)(lambda **given: rule(**given)[place])


def _by_root_of_std(inp, gamma, out_g):
    """Return `inp.g` and `gamma.g` of layer norm with std in place of var in (var + 1e-5) ** -0.5."""
    inv = (inp.std(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    return _through_hat(inv, hat, out_g * gamma), (out_g * hat).sum((0, 1))


def _in_other_groups(count):
    """Return a rule for `inp.g` and `gamma.g` of group norm with `count(channels, groups)` groups."""

    def rule(inp, gamma, out_g, groups):
        x = inp.reshape(len(inp), count(inp.shape[1], groups), -1)
        inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
        hat = (x - x.mean(-1, keepdim=True)) * inv
        inp_g = _through_hat(inv, hat, (out_g * gamma.unsqueeze(-1)).reshape(x.shape))
        return inp_g.reshape(inp.shape), (out_g * hat.reshape(inp.shape)).sum((0, 2))

    return rule


_OTHER_GROUPS = (
    (lambda channels, groups: channels // groups,
     "groups is used as the number of channels in a group; it is the number of groups"),
    (lambda channels, groups: channels,
     "each channel is standardized alone, as in instance norm; the channels of a group share one mean and one"
     " variance"),
)  # fmt: skip


embedding_grad = Exercise(
    title="An embedding lookup, backwards",
    forward=lambda idx, w: w[idx],
    inputs={"idx": indices("bs t", "v"), "w": normal("v n"), "out": output()},
    answers=stored("w.g"),
    hints={
        "w.g": (
            "A word may occur in two sentences, or in none. What is the gradient of its row in each case?",
            "Start from zeros in the shape of `w`. Each of the `bs` times `t` positions contributes its row of "
            "`out.g` to one row.",
            "Add, do not assign: with a repeated index, an assignment through `idx` keeps only one of the rows.",
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
            "Raise one entry of a row. Along which three paths does it affect the output of the row?",
            "There are three paths: directly; through the mean, which is subtracted from every entry; and through the "
            "std, by which every entry is divided.",
            "From `out.g` subtract its mean, and `out` times the mean of the product of `out.g` and `out`; then "
            "divide by the std.",
        ),
    },
)

batchnorm_steps_grad = Exercise(
    title="Batch norm, backwards, step by step",
    forward=in_steps(
        mean=lambda inp: inp.mean(0),
        centred=lambda inp, mean: inp - mean,
        var=lambda centred: (centred**2).mean(0),
        inv=lambda var: (var + 1e-5) ** -0.5,
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
            "Look at the last step only. What was `hat` multiplied by?",
            "`gamma` has one entry for each column, and every row uses it.",
            "`hat.g` is one product with the upstream gradient; broadcasting gives each column its own factor.",
        ),
        "gamma.g": (
            "What was `gamma` multiplied by in the last step, and in how many rows?",
            "Multiply the upstream gradient, entry by entry, by what `gamma` was multiplied by.",
            "Then sum over the rows: the whole batch uses the same `gamma`.",
        ),
        "beta.g": (
            "How many times is one entry of `beta` added?",
            "It is added once in every row, with the local derivative 1.",
            "`beta` is the bias of unit 4 again: sum the upstream gradient over the rows.",
        ),
        "inv.g": (
            "`hat` is a product. What is `inv` multiplied by in it?",
            "`inv` has one entry for each column, so the contributions of a whole column are summed.",
            "Use `hat.g`, which you already have; multiply it by the other factor, then sum over the rows.",
        ),
        "var.g": (
            "`inv` is a power of `var`. What does the power rule do to the exponent -1/2?",
            "The derivative of `x ** -0.5` has the exponent -1.5, which you can write as a power of `inv`, without "
            "`var`.",
            "Multiply three factors: -1/2, the third power of `inv`, and the gradient of `inv`.",
        ),
        "centred.g": (
            "In which two steps is `centred` used?",
            "`centred` is a factor of `hat`, and it is squared inside the mean that gives `var`. Add the two"
            " contributions.",
            "In the second contribution, each entry gets its column's `var.g`, times the derivatives of the mean and "
            "of the square.",
        ),
        "mean.g": (
            "Raise the mean by 0.001. In which direction does `centred` move?",
            "The same mean is subtracted in every row.",
            "Take the sign from the difference, and sum over the rows. (Look at the numbers: what do you notice?)",
        ),
        "inp.g": (
            "In which two steps is `inp` used?",
            "`inp` is used in the difference, with derivative 1, and in the mean, with weight 1 / `bs`.",
            "Add `centred.g` as it is, and `mean.g`, divided equally among the rows.",
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
            "This is `standardize_grad` with two changes, another axis and a `gamma`. Where does `gamma` enter?",
            "The upstream gradient of `hat` is no longer `out.g`. Compute it first, and use it in place of `out.g` "
            "from there on.",
            "Call the gradient of `hat` g. Subtract from g its mean over the batch, and `hat` times the mean of "
            "`g * hat`; then divide by the std.",
        ),
        "gamma.g": (
            "What is `gamma` multiplied by: `inp`, or something computed from it?",
            "You need the standardized values; `out` holds them, but scaled and shifted.",
            "`gamma.g` is the other factor times `out.g`, summed over the axis that `gamma` does not have.",
        ),
        "beta.g": (
            "What is the derivative of `out` with respect to `beta`?",
            "Every row of the batch uses the same `beta`.",
            "Sum `out.g` over the axis of the examples.",
        ),
    },
)

_OF_BATCH = "the mean and the variance of the batch are used; the running statistics, mean and var, must be used"
_WHOSE_STATISTICS = ("Two of the arguments are statistics collected during training. Where do you use them?",)
batchnorm_eval_grad = Exercise(
    title="Batch norm with running statistics, backwards",
    forward=_batchnorm_eval,
    inputs={
        "inp": normal("bs n"),
        "gamma": normal("n"),
        "beta": normal("n"),
        "mean": normal("n"),
        "var": taking_turns(positive("n"), uniform("n", 1e-4, 1e-2)),  # a small one shows whether 1e-5 is added
        "out": output(),
    },
    answers=stored("inp.g", "gamma.g", "beta.g"),
    hints={
        "inp.g": (
            "Nudge one entry of `inp`. Do `mean` and `var` change, when they are arguments?",
            "No other row or column of `out` changes, and `out` is a linear function of `inp`.",
            "Take the slope of `out` as a linear function of `inp`, column by column, times the upstream gradient.",
        ),
        "gamma.g": (
            "What was `gamma` multiplied by?",
            "`gamma` was multiplied by the standardized input, computed with the `mean` and `var` that you are given.",
            "`gamma.g` is the other factor times `out.g`, summed over the batch.",
        ),
        "beta.g": (
            "Does the gradient of `beta` depend on which statistics are used?",
            "The statistics play no part: `beta` is added once in every row.",
            "Sum `out.g` over the axis of the examples.",
        ),
    },
    misconceptions=(
        Misconception("wrong-point", "inp.g",
                      lambda inp, gamma, out_g: out_g * gamma * (inp.var(0, unbiased=False) + 1e-5) ** -0.5,
                      _OF_BATCH, _WHOSE_STATISTICS),
        Misconception("wrong-point", "gamma.g",
                      lambda inp, out_g: (
                          out_g * (inp - inp.mean(0)) * (inp.var(0, unbiased=False) + 1e-5) ** -0.5
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
            "Which entries share a mean here, and which share one in batch norm?",
            "`gamma` now differs from entry to entry of a row. So is it inside the means that you subtract, or "
            "outside?",
            "First compute the gradient of `hat`. Put it in place of `out.g` in the formula of `standardize_grad`, "
            "with means along the last axis.",
        ),
        "gamma.g": (
            "How many rows use one entry of `gamma`? Count all of them.",
            "The means are taken over `n`, but `gamma` is shared over `bs` and `t`.",
            "`gamma.g` is the other factor times `out.g`, summed over every axis that `gamma` does not have.",
        ),
        "beta.g": (
            "How many rows use one entry of `beta`? Count all of them.",
            "If an axis `t` remains, only one of the two leading axes has been summed over.",
            "Only the last axis of `out.g` may remain.",
        ),
    },
    misconceptions=tuple(
        Misconception("wrong-operand", answer,
                      _part(_by_root_of_std, place),
                      "the standard deviation is raised to the power -0.5 in place of the variance: "
                      "the square root is taken twice",
                      ("If a row is multiplied by 2, by how much does its `hat` change?",))
        for place, answer in enumerate(("inp.g", "gamma.g"))
    ),
)  # fmt: skip

rmsnorm_grad = Exercise(
    title="RMS norm, backwards",
    forward=_rmsnorm,
    inputs={"inp": sized(normal("bs n"), n=_SEVERAL), "gamma": normal("n"), "out": output()},
    answers=stored("inp.g", "gamma.g"),
    hints={
        "inp.g": (
            "Compare it with layer norm. Which step is missing here, and which path with it?",
            "Two paths remain: each entry directly, and through the root mean square by which the whole row is "
            "divided.",
            "Let `hat` be `inp` divided by its root mean square. Take the gradient of `hat`, minus `hat` times the "
            "mean of the product of the two; then divide by the rms.",
        ),
        "gamma.g": (
            "What was `gamma` multiplied by?",
            "`gamma` was multiplied by the row after the division; every row of the batch uses the same `gamma`.",
            "`gamma.g` is the other factor times `out.g`, summed over the batch.",
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
            "How many entries share one mean? Count the channels of a group, and the positions.",
            "Reshape to `(bs, groups, entries of a group)`; there the gradient is that of `standardize_grad`.",
            "Multiply by `gamma` first, at the shape `(bs, c, l)`, as its entries differ within a group; then group, "
            "then reshape back.",
        ),
        "gamma.g": (
            "`gamma` has one entry for each channel. Which axes does it not have?",
            "`gamma` is multiplied by the standardized input, reshaped back to `(bs, c, l)`.",
            "`gamma.g` is the other factor times `out.g`, summed over examples and positions.",
        ),
        "beta.g": (
            "How many times is one entry of `beta` added?",
            "It is added once for every example and every position.",
            "Sum `out.g` so that only the axis `c` remains.",
        ),
    },
    misconceptions=tuple(
        Misconception("summed-wrong-axis", answer, _part(_in_other_groups(count), place), says,
                      ("Into how many groups is one example split, and how many channels does each of them have?",
                       "Before it takes a mean, the forward pass reshapes. Which axes does the array have that your"
                       " code averages?",
                       "How many means does the forward pass take for one example, and how many does your code?"))
        for count, says in _OTHER_GROUPS
        for place, answer in enumerate(("inp.g", "gamma.g"))
    ),
)  # fmt: skip
