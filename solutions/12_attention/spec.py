"""Exercises of unit 12: every row looks at every row."""

from math import sqrt

from handgrad import Exercise, Misconception, Sampler, normal, number, output, sized, stored, weights


def _free(rng, _setting, shape):
    """Return a mask that is True for about half of the scores, and for at least one in each row."""
    free = rng.random(shape) < 0.5
    free[range(shape[0]), rng.integers(shape[1], size=shape[0])] = True
    return free


def _attention(q, k, v):
    """out = (q @ k.mT / sqrt(d)).softmax(-1) @ v"""
    d = q.shape[-1]
    scores = q @ k.mT / sqrt(d)
    weights = scores.softmax(-1)
    return weights @ v


def _causal_attention(q, k, v):
    """out = (q @ k.mT / sqrt(d)).masked_fill(later, -inf).softmax(-1) @ v, later = torch.ones(t, t).triu(1).bool()"""
    import torch

    t, d = q.shape[-2:]
    later = torch.ones(t, t).triu(1).bool()
    scores = (q @ k.mT / sqrt(d)).masked_fill(later, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v


def _swiglu(inp, w1, w2):
    """out = linear * (gate * gate.sigmoid()), linear = inp @ w1, gate = inp @ w2"""
    linear = inp @ w1
    gate = inp @ w2
    return linear * (gate * gate.sigmoid())


def _rope(inp):
    """Rotates the pair (inp[.., p, i], inp[.., p, c + i]) by the angle p / 10000 ** (i / c)"""
    import torch

    c = inp.shape[-1] // 2
    p = torch.arange(inp.shape[-2], dtype=inp.dtype)
    i = torch.arange(c, dtype=inp.dtype)
    angle = p[:, None] / 10000 ** (i / c)
    first = inp[..., :c]
    second = inp[..., c:]
    return torch.cat((first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()), -1)


def _multihead(x, wqkv, wo, heads):
    """q, k, v = (x @ wqkv).chunk(3, -1), each split into heads; out = the outputs of all heads side by side @ wo"""
    bs, t, _ = x.shape
    split = [part.reshape(bs, t, heads, -1) for part in (x @ wqkv).chunk(3, -1)]
    q, k, v = (part.transpose(1, 2) for part in split)
    c = q.shape[-1]
    scores = q @ k.mT / sqrt(c)
    weights = scores.softmax(-1)
    mixed = weights @ v
    joined = mixed.transpose(1, 2).reshape(bs, t, -1)
    return joined @ wo


def _info_nce(a, b, temperature):
    """loss = (scores.logsumexp(-1) - scores.diagonal()).mean(), scores = a @ b.t() / temperature"""
    scores = a @ b.t() / temperature
    return (scores.logsumexp(-1) - scores.diagonal()).mean()


def norm(x):
    """Return each row minus its mean, divided by its standard deviation"""
    centred = x - x.mean(-1, keepdim=True)
    var = (centred**2).mean(-1, keepdim=True)
    return centred / (var + 1e-5).sqrt()


def causal(q, k, v):
    """Return the causal attention of q and k with c columns: as in causal_attention_grad, where they have d"""
    import torch

    t, c = q.shape[-2:]
    later = torch.ones(t, t).triu(1).bool()
    scores = (q @ k.mT / sqrt(c)).masked_fill(later, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v


def _block(x, wq, wk, wv, wo, w1, w2):
    """h = x + causal(n @ wq, n @ wk, n @ wv) @ wo, n = norm(x); out = h + (norm(h) @ w1).clamp_min(0) @ w2"""
    n = norm(x)
    mixed = causal(n @ wq, n @ wk, n @ wv)
    h = x + mixed @ wo
    hidden = (norm(h) @ w1).clamp_min(0)
    return h + hidden @ w2


def _heads(_rng, setting, _shape):
    return setting.sizes["h"]


masked_softmax_grad = Exercise(
    title="Backward pass of a masked softmax",
    forward=lambda scores, mask: scores.masked_fill(~mask, float("-inf")).softmax(-1),
    inputs={"scores": normal("s t"), "out": output(), "mask": Sampler("s t", _free)},
    answers=stored("scores.g"),
    hints={
        "scores.g": (
            "Nudge a score that is masked out. What happens to `out`?",
            "For the entries that take part, this is the softmax of unit 6. Does `out` show which entries those are?",
            "`out` is 0 where the mask is False. Look at the gradient of softmax: what is it where `out` is 0?",
        ),
    },
)

attention_grad = Exercise(
    title="Backward pass of attention",
    forward=_attention,
    inputs={"q": normal("bs s d"), "k": normal("bs t d"), "v": normal("bs t e"), "out": output("bs s e")},
    answers=stored("q.g", "k.g", "v.g"),
    hints={
        "q.g": (
            "`q` goes through four operations: product, division, softmax, product. Which comes first in the backward "
            "pass?",
            "Compute the weights after the softmax, then their gradient, (bs, s, t); then go back through the softmax.",
            "The division by `sqrt(d)` is an operation as well, and contributes a factor to the backward pass.",
        ),
        "k.g": (
            "`k` is the other factor in the product with `q`. What is the shape of the gradient of the scores?",
            "Scores are (bs, s, t), `k` is (bs, t, d): which axis must the sum run over, and which factor has it?",
            "Every query was compared with this key, so the sum runs over s; transpose the scores' gradient, not `q`.",
        ),
        "v.g": (
            "`v` comes in at the very end. Is there a softmax between `v` and `out`?",
            "One row of `v` went into every row of `out`, each time with its own weight. What is its gradient?",
            "Use the weights again, transposed: each value sums over all the queries that attended to it.",
        ),
    },
)

causal_attention_grad = Exercise(
    title="Backward pass of causal attention",
    forward=_causal_attention,
    inputs={"q": normal("bs t d"), "k": normal("bs t d"), "v": normal("bs t e"), "out": output("bs t e")},
    answers=stored("q.g", "k.g", "v.g"),
    hints={
        "q.g": (
            "The first row attends to itself alone. What is its weight, and can any query change it?",
            "Compute the weights with the mask, as in the forward pass. Does the backward pass differ at all?",
            "Where a weight is 0 because of the mask, the gradient of softmax is 0 there already.",
        ),
        "k.g": (
            "Which queries attend to the last key? And to the first?",
            "This is `attention_grad` with other weights.",
            "If only `k.g` is wrong, look at the transpose: each key sums over the queries that may attend to it.",
        ),
        "v.g": (
            "Which rows of `out` depend on the last value?",
            "`v.g` needs the masked weights and `out.g`.",
            "Transposed, the weights are upper triangular: later queries attend to earlier values.",
        ),
    },
)

swiglu_grad = Exercise(
    title="Backward pass of SwiGLU",
    forward=_swiglu,
    inputs={"inp": normal("bs n"), "w1": weights("n m"), "w2": weights("n m"), "out": output()},
    answers=stored("inp.g", "w1.g", "w2.g"),
    hints={
        "inp.g": (
            "How many paths lead from `inp` to `out`?",
            "There are two paths, through `linear` and through `gate`. Each is a linear layer with its own"
            " upstream gradient.",
            "First find the gradients of the two matrix products, (bs, m) each; then add two contributions.",
        ),
        "w1.g": (
            "What was `inp @ w1` multiplied by?",
            "In an elementwise product the local derivative is the other factor: here the output of silu.",
            "What remains is the weight gradient of a linear layer.",
        ),
        "w2.g": (
            "Two operations lie between `inp @ w2` and `out`. Which?",
            "They are the product, whose other factor is `inp @ w1`, and silu, whose derivative you know from unit 5.",
            "silu is `x` times its sigmoid: both uses of `x` contribute to its derivative.",
        ),
    },
)

rope_grad = Exercise(
    title="Backward pass of rotary position embeddings",
    forward=_rope,
    inputs={"inp": normal("bs t 2*c"), "out": output("bs t 2*c")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Each pair of entries is rotated by a known angle. What does a nudge of the first entry do to the pair?",
            "Two entries go in, two come out: write the four derivatives as a 2 x 2 matrix, and read its columns.",
            "The backward pass uses the transpose of the rotation matrix, which rotates the other way. Where does the "
            "minus sign go?",
        ),
    },
    misconceptions=(
        Misconception(
            "forward-value",
            "inp.g",
            lambda inp: inp,
            says="this is inp again, as if `out` were rotated back in place of out.g",
            hints=("What do you rotate back: a value or a gradient?",),
        ),
    ),
)

multihead_grad = Exercise(
    title="Backward pass of multi-head attention",
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
            "If `wqkv.g` is right, one step is left. Which?",
            "`x` is used in one matrix product only; q, k and v are three parts of its result.",
            "Concatenate the gradients in the order of the forward pass, (bs, t, 3hc); the rest is a linear layer.",
        ),
        "wqkv.g": (
            "How are the columns split into heads? Follow one column from `wqkv` to its head.",
            "To put the heads back side by side, transpose and then reshape; a reshape alone is not enough.",
            "Of which number is the square root taken here: the columns of all heads together, or of one head?",
        ),
        "wo.g": (
            "What did `wo` multiply? Give it a name in the forward pass.",
            "`wo` multiplied the outputs of all heads side by side, (bs, t, hc); both bs and t count rows.",
            "This is a linear layer on a batch of sequences, as in `lin_grad_nd`.",
        ),
    },
)

info_nce_grad = Exercise(
    title="Backward pass of InfoNCE",
    forward=_info_nce,
    inputs={"a": normal("bs d"), "b": normal("bs d"), "temperature": number(0.5, 2)},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "The loss is a cross-entropy. Which class is the target of row `i`?",
            "Prediction minus target, divided by the number of rows; the targets are on the diagonal.",
            "From the scores, go back through the division and the product: which matrix was `a` multiplied by?",
        ),
        "b.g": (
            "In the product, `b` is on the right and transposed. Which axis of the scores counts the rows of `b`?",
            "The gradient of the scores is the same as for `a`.",
            "Row `j` of `b` was compared with every row of `a`, so its gradient comes from column `j` of the scores.",
        ),
    },
)

_BLOCK_HINTS = {
    "x": (
        "How many paths start at `x`? Look at both lines of the forward pass.",
        "The short path goes straight through both sums. The others go through the norm, and through q, k or v.",
        "Pass the sum of the three gradients back through the norm once; then add the gradient of the skip connection.",
    ),
    "wq": (
        "If `wk.g` and `wv.g` are right, which product is left to look at?",
        "`wq` is the weight of a linear layer. What was its input: `x`, or something computed from `x`?",
        "Its upstream gradient is the gradient of q, as in `causal_attention_grad`.",
    ),
    "wk": (
        "If `wq.g` is right, what is different for k?",
        "The gradient of the scores has to be transposed for k.",
        "The input of this linear layer is `x` after the norm; its upstream gradient is that of k.",
    ),
    "wv": (
        "What is the gradient of v? Is there a softmax on this path?",
        "The output of the attention is multiplied by `wo`; pass the gradient back through `wo` first.",
        "The transposed weights times the upstream gradient; then the linear layer, whose input is `x` after the norm.",
    ),
    "wo": (
        "What did `wo` multiply, and what is the upstream gradient of that product?",
        "The upstream gradient is the gradient of h, and h is used twice.",
        "h reaches `out` directly, and through norm, `w1`, relu and `w2`. Add both before you go on to `wo`.",
    ),
    "w1": (
        "What is the input of this layer, and what follows it?",
        "Take `out.g` through `w2` and the mask of the relu; the input is `norm(h)`, not `h`.",
        "Two axes count the rows, and the sum runs over both.",
    ),
    "w2": (
        "This is the last layer. What did `w2` multiply?",
        "Its input is the output of the relu; its upstream gradient is `out.g` itself.",
        "Batch and time both count rows here, and the sum runs over both.",
    ),
}

block_grad = Exercise(
    title="Backward pass of a transformer block",
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
