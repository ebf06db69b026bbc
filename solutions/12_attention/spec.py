"""Exercises of unit 12: every row looks at every row."""

from handgrad import Exercise, Sampler, normal, number, output, sized, stored, weights


def _free(rng, _setting, shape):
    """Which scores take part: about half of them, and in each row at least one."""
    free = rng.random(shape) < 0.5
    free[range(shape[0]), rng.integers(shape[1], size=shape[0])] = True
    return free


def _attention(q, k, v):
    """out = (q @ k.mT / sqrt(d)).softmax(-1) @ v"""
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


def _causal(q, k, v):
    """out = (q @ k.mT / sqrt(d)).masked_fill(later, -inf).softmax(-1) @ v, later = torch.ones(t, t).triu(1).bool()"""
    import torch

    later = torch.ones(q.shape[-2], q.shape[-2]).triu(1).bool()
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(later, float("-inf"))
    return scores.softmax(-1) @ v


def _swiglu(inp, w1, w2):
    """out = (inp @ w1) * gate * gate.sigmoid(), gate = inp @ w2"""
    value, gate = inp @ w1, inp @ w2
    return value * (gate * gate.sigmoid())


def _rope(inp):
    """Turns the pair (inp[.., p, i], inp[.., p, c + i]) by the angle p / 10000 ** (i / c)"""
    import torch

    c = inp.shape[-1] // 2
    place = torch.arange(inp.shape[-2], dtype=inp.dtype)
    angle = place[:, None] / 10000 ** (torch.arange(c, dtype=inp.dtype) / c)
    first, second = inp[..., :c], inp[..., c:]
    return torch.cat((first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()), -1)


def _multihead(x, wqkv, wo, heads):
    """q, k, v = (x @ wqkv).chunk(3, -1), each parted into heads; out = attention's heads side by side @ wo"""
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    return _attention(q, k, v).transpose(1, 2).reshape(bs, t, -1) @ wo


def _info_nce(a, b, temperature):
    """loss = (scores.logsumexp(-1) - scores.diagonal()).mean(), scores = a @ b.t() / temperature"""
    scores = a @ b.t() / temperature
    return (scores.logsumexp(-1) - scores.diagonal()).mean()


def _norm(x):
    """Each row less its mean, divided by its standard deviation"""
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred**2).mean(-1, keepdim=True) + 1e-5).sqrt()


def _block(x, wq, wk, wv, wo, w1, w2):
    """h = x + causal(n @ wq, n @ wk, n @ wv) @ wo, n = norm(x); out = h + relu(norm(h) @ w1) @ w2"""
    n = _norm(x)
    h = x + _causal(n @ wq, n @ wk, n @ wv) @ wo
    return h + (_norm(h) @ w1).clamp_min(0) @ w2


def _heads(_rng, setting, _shape):
    return setting.sizes["h"]


masked_softmax_grad = Exercise(
    title="A softmax that leaves some scores out, backwards",
    forward=lambda scores, mask: scores.masked_fill(~mask, float("-inf")).softmax(-1),
    inputs={"scores": normal("s t"), "out": output(), "mask": Sampler("s t", _free)},
    answers=stored("scores.g"),
    hints={
        "scores.g": (
            "Nudge a score that is left out. What does out do?",
            "Among the entries that take part, it is the softmax of unit 6. Does out know which these are?",
            "out is 0 where the mask is False. Look at softmax's gradient: what does an out of 0 make of it?",
        ),
    },
)

attention_grad = Exercise(
    title="Attention, backwards",
    forward=_attention,
    inputs={"q": normal("bs s d"), "k": normal("bs t d"), "v": normal("bs t e"), "out": output("bs s e")},
    answers=stored("q.g", "k.g", "v.g"),
    hints={
        "q.g": (
            "Four steps lead from q to out: a product, a division, a softmax, a product. Undo them from the end.",
            "Name the weights after the softmax and go by their gradient, (bs, s, t); then back through the softmax.",
            "The division by sqrt(d) is a step as well, and it has a factor on the way back.",
        ),
        "k.g": (
            "k is used where q is, on the other side of one product. What shape has the gradient of the scores?",
            "Scores are (bs, s, t), k is (bs, t, d): which axis must be summed away, and whose partner has it?",
            "All the queries asked this key, so its gradient gathers over s; turn the scores' gradient, not q.",
        ),
        "v.g": (
            "v comes in at the very end. Is there a softmax between v and out?",
            "One row of v went into every row of out, with one weight for each. What comes back?",
            "The weights once more, turned: every value gathers from all queries that looked at it.",
        ),
    },
)

causal_attention_grad = Exercise(
    title="Attention that may not look ahead, backwards",
    forward=_causal,
    inputs={"q": normal("bs t d"), "k": normal("bs t d"), "v": normal("bs t e"), "out": output("bs t e")},
    answers=stored("q.g", "k.g", "v.g"),
    hints={
        "q.g": (
            "The first row can look at itself alone. What is its weight, and can any query change it?",
            "Make the weights with the mask, as on the way forward. What is different on the way back?",
            "Where a weight is 0 because of the mask, softmax's gradient is 0 by itself.",
        ),
        "k.g": (
            "Which queries looked at the last key? And at the first?",
            "It is attention_grad with other weights.",
            "If only k.g is wrong, look at the transpose: each key gathers from the queries behind it.",
        ),
        "v.g": (
            "Which rows of out hold something of the last value?",
            "v.g needs the weights, with the mask in them, and out.g.",
            "The weights turned: upper triangular now, for each value is seen by those that come after it.",
        ),
    },
)

swiglu_grad = Exercise(
    title="SwiGLU, backwards",
    forward=_swiglu,
    inputs={"inp": normal("bs n"), "w1": weights("n m"), "w2": weights("n m"), "out": output()},
    answers=stored("inp.g", "w1.g", "w2.g"),
    hints={
        "inp.g": (
            "How many paths lead from inp to out?",
            "Through the value and through the gate. Each is a linear layer with an upstream gradient of its own.",
            "Find the two gradients behind the matrix products first, (bs, m) each; then two products are added.",
        ),
        "w1.g": (
            "Whom was inp @ w1 multiplied with?",
            "For a product entry by entry, the partner is the factor: here all that silu gave.",
            "Then it is the weight gradient of a linear layer.",
        ),
        "w2.g": (
            "Two things lie between inp @ w2 and out. Which?",
            "The product, whose partner is inp @ w1, and silu, which has a derivative of its own (unit 5).",
            "silu is x times its sigmoid: both x's count in its derivative.",
        ),
    },
)

rope_grad = Exercise(
    title="Rotary positions, backwards",
    forward=_rope,
    inputs={"inp": normal("bs t 2*c"), "out": output("bs t 2*c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Each pair of entries is turned by an angle that is known. What does a nudge of the first do to the pair?",
            "Two entries go in, two come out: write the four derivatives as a small table, then read its columns.",
            "Columns in place of rows: the turn goes the other way round. Which of the two signs changes?",
        ),
    },
)

multihead_grad = Exercise(
    title="Several heads at once, backwards",
    forward=_multihead,
    inputs={
        "x": normal("bs t n"),
        "wqkv": weights("n 3*h*c"),
        "wo": weights("h*c m"),
        "out": output("bs t m"),
        "heads": Sampler("", _heads),
    },
    answers=stored("x.g", "wqkv.g", "wo.g"),
    hints={
        "x.g": (
            "If wqkv.g is right, one step is left. Which?",
            "x goes into one matrix product alone; q, k and v are three parts of what comes out.",
            "Join the three gradients in the order of the forward pass, (bs, t, 3hc), then it is a linear layer.",
        ),
        "wqkv.g": (
            "How do the heads part the columns? Follow one column from wqkv to its head.",
            "The heads come back side by side by a transpose and then a reshape, not by a reshape alone.",
            "Which number does sqrt hold here: the columns of all heads together, or of one?",
        ),
        "wo.g": (
            "What did wo multiply? Keep it under a name on the way forward.",
            "The heads' outputs side by side, (bs, t, hc); two axes number the rows.",
            "A linear layer on a batch of sequences, as lin_grad_nd.",
        ),
    },
)

info_nce_grad = Exercise(
    title="InfoNCE, backwards",
    forward=_info_nce,
    inputs={"a": normal("bs d"), "b": normal("bs d"), "temperature": number(0.5, 2)},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "It is a cross-entropy. Which class is the right one in row i?",
            "Belief less truth, divided by the number of rows; the truth is a diagonal.",
            "Then back through the division and the product: which matrix does a meet?",
        ),
        "b.g": (
            "In the product b is on the right and turned. Which axis of the scores numbers the rows of b?",
            "The same gradient of the scores as for a.",
            "Row j of b was compared with every row of a, so column j is what it hears.",
        ),
    },
)

_BLOCK_HINTS = {
    "x": (
        "How many paths start at x? Look at both lines of the forward pass.",
        "The short one goes straight through both sums. The others go through the norm, and through q, k and v.",
        "Three gradients meet behind the norm and go through it together; then add the short path.",
    ),
    "wq": (
        "If wk.g and wv.g are right, only one product is left to look at.",
        "wq is the weight of a linear layer. What was its input: x, or something made of x?",
        "Its upstream is the gradient of q in causal_attention_grad.",
    ),
    "wk": (
        "If wq.g is right, what is different for k?",
        "The gradient of the scores has to be turned for k.",
        "The input of this linear layer is x after the norm, its upstream the gradient of k.",
    ),
    "wv": (
        "What arrives at v? Is there a softmax on this path?",
        "The attention's output is multiplied by wo; bring the gradient back through that first.",
        "Weights turned times what arrives; then the linear layer, whose input is x after the norm.",
    ),
    "wo": (
        "What did wo multiply, and what arrives behind it?",
        "What arrives is the gradient of h, and h is used twice.",
        "h goes straight to out and through norm, w1, relu and w2. Both add up before wo hears of it.",
    ),
    "w1": (
        "Which input did this layer have, and which relu follows it?",
        "Out.g through w2 and through the relu's mask; the input is norm(h), not h.",
        "Two axes number the rows, and both are summed away.",
    ),
    "w2": (
        "The last layer: what did it multiply?",
        "Its input is what the relu let through, its upstream out.g itself.",
        "Batch and time both number rows here.",
    ),
}

block_grad = Exercise(
    title="A whole transformer block, backwards",
    forward=_block,
    inputs={
        "x": sized(normal("bs t d"), d=(4, 5, 6, 7)),  # of fewer entries a norm leaves little but signs
        "wq": weights("d c"),
        "wk": weights("d c"),
        "wv": weights("d e"),
        "wo": weights("e d"),
        "w1": weights("d m"),
        "w2": weights("m d"),
        "out": output("bs t d"),
    },
    answers=stored("x.g", "wq.g", "wk.g", "wv.g", "wo.g", "w1.g", "w2.g"),
    hints={f"{name}.g": steps for name, steps in _BLOCK_HINTS.items()},
)
