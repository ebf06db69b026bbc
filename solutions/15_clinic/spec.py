"""Exercises of unit 15: testing and debugging backward passes."""

from handgrad import (
    Exercise,
    Function,
    Misconception,
    Routine,
    each_of,
    edited,
    examination,
    indices,
    normal,
    output,
    sized,
    source_of,
    stored,
    weights,
)

# Where a test is blind: an expression that holds in all its calls, the message, and a question.
_ALL_ONES = "(out.g == out.g.flatten()[0]).all()"
_BLIND = {
    "ones": (
        _ALL_ONES,
        "In every call of your test, all entries of out.g are the same number",
        "If every entry of `out.g` is the same, can the test see whether `out.g` was used?",
    ),
    "one-row": (
        "len(inp) == 1",
        "In your test, every inp has a single row, bs = 1",
        "What is the sum over a batch of one, and what is its mean?",
    ),
    "one-column": (
        "inp.shape[1] == 1",
        "In your test, every inp has a single column, n = 1",
        "What is the mean of one number, and what is its sum?",
    ),
    "square": (
        "inp.shape[0] == inp.shape[1]",
        "In every call of your test, bs and n are the same number",
        "If bs and n are the same number, can the test see which of them was used?",
    ),
    "no-square": (
        "inp.shape[0] != inp.shape[1] or len(inp) == 1",
        "Your test has no call with bs = n, where a wrong axis raises no error",
        "At which sizes can a row be used in place of a column without an error?",
    ),
    "no-single-row": (
        "len(inp) > 1",
        "Your test has no call with a single row, bs = 1",
        "What are the smallest sizes that are allowed? Does your test try them?",
    ),
    "few-rows": (
        "len(inp) <= 3",
        "Your test has no call with more than three rows",
        "How many rows does it take to see that one is left out?",
    ),
    "few-columns": (
        "inp.shape[1] <= 4",
        "Your test has no call with more than four columns",
        "How many columns does it take to see that one is left out?",
    ),
    "positive": (
        "(inp > 0).all()",
        "In your test, every entry of inp is positive",
        "Which mistakes show only for negative numbers?",
    ),
    "positive-scale": (
        "(scale > 0).all()",
        "In your test, every entry of scale is positive",
        "Which mistakes show only for negative numbers?",
    ),
    "positive-upstream": (
        "(out.g > 0).all()",
        "In your test, every entry of out.g is positive",
        "Which mistakes show only for negative numbers?",
    ),
    "small": (
        "(out.g.abs() <= 1.5).all()",
        "In your test, no entry of out.g is larger than 1.5",
        "A gradient is linear in `out.g`. How large are the entries of `out.g` in your test?",
    ),
    "modest": (
        "(inp.abs() < 88).all()",
        "In your test, no entry of inp is as large as 88 in absolute value",
        "For which inputs does `exp` overflow?",
    ),
    "whole": (
        "(inp == inp.round()).all() and (out.g == out.g.round()).all()",
        "All numbers in your test are integers",
        "What does rounding change in an integer?",
    ),
    "alike": (
        "(inp - inp[:, :1]).abs().max() < 1e-6",
        "In every call of your test, all entries of a row of inp are the same",
        "If all entries of a row are the same, can the test tell them apart?",
    ),
}
_IN_PLACE = "stores the right gradients, but changes out.g in place, which the test does not check"
_HALF = "stores its gradients in half precision (float16), although the inputs are float32 or float64"
_NAN = "stores nan in the last entry of inp.g; a comparison of nan with `>` is never true"

test_scale = examination(
    "Test the backward pass of inp * scale",
    lambda inp, scale: inp * scale,
    {"inp": "bs n", "scale": "n"},
    (
        (
            "is written as in the lesson, so the test's assertions fail for a right answer",
            "inp.g = out.g * scale\nscale.g = (out.g * inp).sum(0)",
        ),
        (
            "is written with einsum",
            'inp.g = torch.einsum("bn,n->bn", out.g, scale)\nscale.g = torch.einsum("bn,bn->n", out.g, inp)',
        ),
        (
            "multiplies by a diagonal matrix, and takes the diagonal of a product",
            "inp.g = out.g @ torch.diag(scale)\nscale.g = (out.g.t() @ inp).diagonal()",
        ),
        (
            "loops over the rows",
            """
            inp.g, scale.g = torch.zeros_like(inp), torch.zeros_like(scale)
            for i in range(len(inp)):
                inp.g[i] = scale * out.g[i]
                scale.g += inp[i] * out.g[i]
            """,
        ),
        (
            "computes in double precision and stores the result in the dtype of its inputs",
            """
            inp.g = (out.g.double() * scale.double()).to(inp.dtype)
            scale.g = (out.g.double() * inp.double()).sum(0).to(scale.dtype)
            """,
        ),
        (
            "multiplies by three and divides by three, so that it rounds differently",
            "inp.g = out.g * (scale * 3) / 3\nscale.g = (out.g * inp * 3).sum(0) / 3",
        ),
        (
            "builds its tensors from Python numbers",
            """
            columns = range(len(scale))
            rows, g, s = inp.tolist(), out.g.tolist(), scale.tolist()
            inp.g = torch.tensor([[row[j] * s[j] for j in columns] for row in g], dtype=inp.dtype)
            scale.g = torch.tensor(
                [sum(row[j] * up[j] for row, up in zip(rows, g)) for j in columns], dtype=scale.dtype
            )
            """,
        ),
        (
            "stores tensors that are not contiguous in memory, as after .t()",
            "inp.g = (out.g.t() * scale[:, None]).t()\nscale.g = (out.g.t() * inp.t()).sum(1)",
        ),
        (
            "takes the mean and multiplies it by the number of rows",
            "inp.g = scale.expand_as(inp) * out.g\nscale.g = (inp * out.g).mean(0) * len(inp)",
        ),
        (
            "sums from the last row to the first, and also returns what it stores",
            """
            inp.g = torch.mul(scale, out.g)
            scale.g = (out.g * inp).flip(0).cumsum(0)[-1]
            return inp.g, scale.g
            """,
        ),
    ),
    (
        ("returns both gradients and stores nothing", "return out.g * scale, (out.g * inp).sum(0)"),
        ("stores inp.g and forgets scale.g", "inp.g = out.g * scale", "scale.g"),
        ("flips the sign of inp.g", "inp.g = -out.g * scale\nscale.g = (out.g * inp).sum(0)", "inp.g"),
        ("does not sum scale.g over the batch", "inp.g = out.g * scale\nscale.g = out.g * inp", "scale.g", "one-row"),
        ("takes the mean of scale.g", "inp.g = out.g * scale\nscale.g = (out.g * inp).mean(0)", "scale.g", "one-row"),
        (
            "does not use out.g in inp.g",
            "inp.g = scale.expand_as(inp).clone()\nscale.g = (out.g * inp).sum(0)",
            "inp.g",
            "ones",
        ),
        ("does not use out.g in scale.g", "inp.g = out.g * scale\nscale.g = inp.sum(0)", "scale.g", "ones"),
        (
            "sums out.g and inp first, and multiplies afterwards",
            "inp.g = out.g * scale\nscale.g = out.g.sum(0) * inp.sum(0) / len(inp)",
            "scale.g",
            "ones",
            "one-row",
        ),
        (
            "multiplies by the absolute value of scale",
            "inp.g = out.g * scale.abs()\nscale.g = (out.g * inp).sum(0)",
            "inp.g",
            "positive-scale",
        ),
        (
            "treats negative entries of inp as 0",
            "inp.g = out.g * scale\nscale.g = (out.g * inp.clamp_min(0)).sum(0)",
            "scale.g",
            "positive",
        ),
        (
            "broadcasts scale along the wrong axis where bs = n",
            """
            turned = scale[:, None] if len(inp) == len(scale) else scale
            inp.g = out.g * turned
            scale.g = (out.g * inp).sum(0)
            """,
            "inp.g",
            "no-square",
        ),
        (
            "sums scale.g over the wrong axis where bs = n",
            "inp.g = out.g * scale\nscale.g = (out.g * inp).sum(1 if len(inp) == len(scale) else 0)",
            "scale.g",
            "no-square",
        ),
        (
            "drops the batch axis of a single row, so that inp.g loses its shape",
            "inp.g = (out.g * scale).squeeze(0)\nscale.g = (out.g * inp).sum(0)",
            "inp.g",
            "no-single-row",
        ),
        (
            "sums the first three rows only",
            "inp.g = out.g * scale\nscale.g = (out.g * inp)[:3].sum(0)",
            "scale.g",
            "few-rows",
        ),
        (
            "leaves the columns from the fifth on at 0",
            "inp.g = out.g * scale\ninp.g[:, 4:] = 0\nscale.g = (out.g * inp).sum(0)",
            "inp.g",
            "few-columns",
        ),
        (
            "clips out.g at 1.5",
            "inp.g = out.g.clamp(-1.5, 1.5) * scale\nscale.g = (out.g * inp).sum(0)",
            "inp.g",
            "small",
        ),
        (
            "stores gradients that are 1 % too large",
            "inp.g = 1.01 * out.g * scale\nscale.g = 1.01 * (out.g * inp).sum(0)",
        ),
        (
            "rounds inp.g to one decimal",
            "inp.g = (out.g * scale).round(decimals=1)\nscale.g = (out.g * inp).sum(0)",
            "inp.g",
            "whole",
        ),
        (_NAN, "inp.g = out.g * scale\ninp.g[-1, -1] = math.nan\nscale.g = (out.g * inp).sum(0)", "inp.g"),
        (_IN_PLACE, "scale.g = (out.g * inp).sum(0)\nout.g *= scale\ninp.g = out.g.clone()"),
    ),
    _BLIND,
    (
        "What would convince you that a backward pass is right? At how many sizes would you test it?",
        "Call it with random inputs and a random `out.g`, and compare both gradients with what you know to be right.",
        "Try bs = n, a single row, and many rows and columns. Allow for rounding, and check shapes and `out.g` "
        "afterwards.",
    ),
)

_ROW_MEAN = "inp.g = out.g[:, None].expand(inp.shape) / inp.shape[1]"

test_row_mean = examination(
    "Test the backward pass of inp.mean(1)",
    lambda inp: inp.mean(1),
    {"inp": "bs n"},
    (
        (
            "is written as in the lesson, so the test's assertions fail for a right answer",
            _ROW_MEAN,
        ),
        (
            "stores a view without its own memory, as after expand",
            "inp.g = (out.g / inp.shape[1])[:, None].expand_as(inp)",
        ),
        ("multiplies by 1/n", "inp.g = torch.ones_like(inp) * out.g[:, None] * (1 / inp.shape[1])"),
        (
            "is an outer product",
            "inp.g = torch.outer(out.g, torch.full((inp.shape[1],), 1 / inp.shape[1], dtype=inp.dtype))",
        ),
        (
            "loops over all entries",
            """
            inp.g = torch.zeros_like(inp)
            for i in range(inp.shape[0]):
                for j in range(inp.shape[1]):
                    inp.g[i, j] += out.g[i] / inp.shape[1]
            """,
        ),
        (
            "computes in double precision and stores the result in the dtype of its inputs",
            "inp.g = (out.g.double() / inp.shape[1])[:, None].repeat(1, inp.shape[1]).to(inp.dtype)",
        ),
        (
            "builds its tensor from Python numbers",
            "inp.g = torch.tensor([[g / inp.shape[1]] * inp.shape[1] for g in out.g.tolist()], dtype=inp.dtype)",
        ),
        (
            "stores a tensor that is not contiguous in memory, as after .t()",
            "inp.g = (out.g / inp.shape[1]).repeat(inp.shape[1], 1).t()",
        ),
        ("is a matrix product", "inp.g = torch.diag(out.g) @ torch.full_like(inp, 1 / inp.shape[1])"),
        (
            "repeats each entry n times, and also returns what it stores",
            "inp.g = (out.g / inp.shape[1]).repeat_interleave(inp.shape[1]).reshape(inp.shape)\nreturn inp.g",
        ),
    ),
    (
        ("returns the gradient and stores nothing", f"return {_ROW_MEAN.removeprefix('inp.g = ')}"),
        ("flips the sign", "inp.g = -out.g[:, None].expand(inp.shape) / inp.shape[1]"),
        ("does not divide by n", "inp.g = out.g[:, None].expand(inp.shape).clone()", "one-column"),
        ("divides by bs in place of n", "inp.g = out.g[:, None].expand(inp.shape) / len(inp)", "square"),
        ("divides by the total number of entries", "inp.g = out.g[:, None].expand(inp.shape) / inp.numel()", "one-row"),
        ("does not use out.g", "inp.g = torch.full_like(inp, 1 / inp.shape[1])", "ones"),
        (
            "uses the mean of out.g for all rows",
            "inp.g = torch.full_like(inp, 1 / inp.shape[1]) * out.g.mean()",
            "ones",
            "one-row",
        ),
        (
            "gives every row the upstream gradient of the first",
            "inp.g = out.g[0].expand(inp.shape) / inp.shape[1]",
            "ones",
            "one-row",
        ),
        (
            "puts the right numbers in the wrong places: repeat in place of repeat_interleave",
            "inp.g = (out.g / inp.shape[1]).repeat(inp.shape[1]).reshape(inp.shape)",
            "ones",
            "one-row",
            "one-column",
        ),
        (
            "broadcasts out.g along the wrong axis where bs = n",
            """
            turned = out.g[None, :] if inp.shape[0] == inp.shape[1] else out.g[:, None]
            inp.g = turned.expand(inp.shape) / inp.shape[1]
            """,
            "no-square",
            "ones",
        ),
        (
            "stores a single column, (bs, 1), which broadcasting makes equal to the right answer",
            "inp.g = out.g[:, None] / inp.shape[1]",
            "one-column",
        ),
        (
            "loses the batch axis of a single row, (n,) in place of (1, n)",
            "inp.g = (out.g[:, None].expand(inp.shape) / inp.shape[1]).squeeze(0)",
            "no-single-row",
        ),
        (
            "leaves the rows from the fourth on at 0",
            f"{_ROW_MEAN}\ninp.g[3:] = 0",
            "few-rows",
        ),
        (
            "leaves the columns from the fifth on at 0",
            f"{_ROW_MEAN}\ninp.g[:, 4:] = 0",
            "few-columns",
        ),
        (
            "treats negative entries of out.g as 0",
            "inp.g = out.g.clamp_min(0)[:, None].expand(inp.shape) / inp.shape[1]",
            "positive-upstream",
        ),
        (
            "clips out.g at 1.5",
            "inp.g = out.g.clamp(-1.5, 1.5)[:, None].expand(inp.shape) / inp.shape[1]",
            "small",
        ),
        ("stores a gradient that is 1 % too large", "inp.g = 1.01 * out.g[:, None].expand(inp.shape) / inp.shape[1]"),
        (_HALF, "inp.g = (out.g[:, None].expand(inp.shape) / inp.shape[1]).half()"),
        (_NAN, f"{_ROW_MEAN}\ninp.g[-1, -1] = math.nan"),
        (_IN_PLACE, "out.g /= inp.shape[1]\ninp.g = out.g[:, None].expand(inp.shape).clone()"),
    ),
    _BLIND,
    (
        "What would convince you that a backward pass is right? At how many sizes would you test it?",
        "Call it with random inputs and a random `out.g`, and compare with the lesson's formula, or with nudges.",
        "Try bs = n, a single row, and many rows and columns. Compare shape and dtype first: `allclose` broadcasts.",
    ),
)

_SOFTMAX = "inp.g = out * (out.g - (out.g * out).sum(1, keepdim=True))"

test_softmax = examination(
    "Test the backward pass of inp.softmax(1)",
    lambda inp: inp.softmax(1),
    {"inp": "bs n"},
    (
        (
            "is written as in the lesson, so the test's assertions fail for a right answer",
            _SOFTMAX,
        ),
        (
            "computes softmax again, and does not use out",
            "p = inp.softmax(1)\ninp.g = p * (out.g - (out.g * p).sum(1, keepdim=True))",
        ),
        (
            "computes its own exponentials",
            """
            powers = (inp - inp.amax(1, keepdim=True)).exp()
            p = powers / powers.sum(1, keepdim=True)
            inp.g = p * (out.g - (out.g * p).sum(1, keepdim=True))
            """,
        ),
        (
            "builds the Jacobian of each row, in a loop",
            """
            inp.g = torch.zeros_like(inp)
            for i, p in enumerate(out):
                inp.g[i] = (torch.diag(p) - torch.outer(p, p)) @ out.g[i]
            """,
        ),
        (
            "builds all Jacobians at once",
            """
            jacobian = torch.diag_embed(out) - out[:, :, None] * out[:, None, :]
            inp.g = torch.einsum("bij,bj->bi", jacobian, out.g)
            """,
        ),
        (
            "expands the parentheses",
            "inp.g = out * out.g - out * (out * out.g).sum(1, keepdim=True)",
        ),
        (
            "computes in double precision and stores the result in the dtype of its inputs",
            """
            p, g = out.double(), out.g.double()
            inp.g = (p * (g - (g * p).sum(1, keepdim=True))).to(inp.dtype)
            """,
        ),
        (
            "builds its tensor from Python numbers",
            """
            rows = []
            for p, g in zip(out.tolist(), out.g.tolist()):
                average = sum(a * b for a, b in zip(p, g))
                rows.append([a * (b - average) for a, b in zip(p, g)])
            inp.g = torch.tensor(rows, dtype=inp.dtype)
            """,
        ),
        (
            "subtracts the mean of each row of out.g first, which changes nothing",
            """
            g = out.g - out.g.mean(1, keepdim=True)
            inp.g = out * (g - (g * out).sum(1, keepdim=True))
            """,
        ),
        (
            "computes on the transpose of inp, so that inp.g is not contiguous in memory; it also returns inp.g",
            """
            p, g = out.t().contiguous(), out.g.t().contiguous()
            inp.g = (p * (g - (g * p).sum(0))).t()
            return inp.g
            """,
        ),
    ),
    (
        ("returns the gradient and stores nothing", f"return {_SOFTMAX.removeprefix('inp.g = ')}"),
        ("flips the sign", "inp.g = -out * (out.g - (out.g * out).sum(1, keepdim=True))", "ones"),
        ("copies the upstream gradient", "inp.g = out.g.clone()"),
        ("keeps only the diagonal of the Jacobian", "inp.g = out * (1 - out) * out.g", "one-column"),
        ("forgets the average", "inp.g = out * out.g"),
        ("forgets the factor out", "inp.g = out.g - (out.g * out).sum(1, keepdim=True)", "ones", "one-column"),
        (
            "uses the plain mean of out.g as the average",
            "inp.g = out * (out.g - out.g.mean(1, keepdim=True))",
            "ones",
            "alike",
        ),
        ("averages over the batch", "inp.g = out * (out.g - (out.g * out).sum(0, keepdim=True))"),
        ("averages over all entries", "inp.g = out * (out.g - (out.g * out).sum())", "one-row"),
        (
            "uses the first row's average for every row",
            "inp.g = out * (out.g - (out.g * out)[:1].sum(1, keepdim=True))",
            "ones",
            "one-row",
        ),
        ("is twice as large", "inp.g = 2 * out * (out.g - (out.g * out).sum(1, keepdim=True))", "ones"),
        (
            "computes softmax over the wrong axis where bs = n",
            """
            p = inp.softmax(0 if inp.shape[0] == inp.shape[1] else 1)
            inp.g = p * (out.g - (out.g * p).sum(1, keepdim=True))
            """,
            "no-square",
            "alike",
        ),
        (
            "loses the batch axis of a single row, (n,) in place of (1, n)",
            f"{_SOFTMAX}\ninp.g = inp.g.squeeze(0)",
            "no-single-row",
        ),
        ("leaves the rows from the fourth on at 0", f"{_SOFTMAX}\ninp.g[3:] = 0", "ones", "few-rows"),
        (
            "clips out.g at 1.5",
            "g = out.g.clamp(-1.5, 1.5)\ninp.g = out * (g - (g * out).sum(1, keepdim=True))",
            "ones",
            "small",
        ),
        (
            "computes its own softmax without subtracting the largest entry, which is nan for large inp",
            """
            p = inp.exp() / inp.exp().sum(1, keepdim=True)
            inp.g = p * (out.g - (out.g * p).sum(1, keepdim=True))
            """,
            "modest",
        ),
        ("stores a gradient that is 1 % too large", f"{_SOFTMAX}\ninp.g = 1.01 * inp.g", "ones"),
        (_HALF, f"{_SOFTMAX}\ninp.g = inp.g.half()"),
        (_NAN, f"{_SOFTMAX}\ninp.g[-1, -1] = math.nan"),
        (_IN_PLACE, "out.g -= (out.g * out).sum(1, keepdim=True)\ninp.g = out * out.g"),
    ),
    _BLIND,
    (
        "For which sizes and which numbers does a mistake show? Which right answers must an assertion let pass?",
        "Fill `inp` and `out.g` with random numbers, some of them large, at several sizes; compare with the formula.",
        "Check four things: the shape, the dtype, the entries up to rounding, and that `out.g` is unchanged.",
    ),
)

# Each bug in the backward pass of out = inp.mean(1) shows from certain sizes on; the reference looks for them.
_BUGS = each_of(
    *(
        Function(source_of("bug", "inp, out", body))
        for body in (
            "inp.g = out.g[:, None].expand(inp.shape).clone()",  # 1, 2
            "inp.g = out.g[:, None].expand(inp.shape) / inp.numel()",  # 2, 1
            f"{_ROW_MEAN}\ninp.g[4:] = 0",  # 5, 1
            "inp.g = (out.g / inp.shape[1]).repeat(inp.shape[1]).reshape(inp.shape)",  # 2, 2
            f"{_ROW_MEAN}\ninp.g.view(-1)[4:] = 0",  # 1, 5
            f"{_ROW_MEAN}\nif len(inp) > 2 and inp.shape[1] > 1:\n    inp.g[-1] = 0",  # 3, 2
            "inp.g = out.g[:, None].expand(inp.shape) / 4",  # 1, 1
            f"{_ROW_MEAN}\nif inp.shape[1] > 2 and len(inp) > 1:\n    inp.g = inp.g.flip(0)",  # 2, 3
            "inp.g = out.g.sum().expand(inp.shape) / inp.shape[1] / len(inp)",  # 2, 1
            "inp.g = torch.zeros_like(inp)\ninp.g[0, 0] = out.g.sum()",  # 1, 2
            "inp.g = out.g[:, None].expand(inp.shape) / max(min(inp.shape[1], 4), min(len(inp), 3))",  # 2, 1
            "inp.g = out.g[:, None].expand(inp.shape).clone()\ninp.g[4:] = 0",  # 1, 2
        )
    )
)
_LARGEST = 6


def _shows(bug, bs, n, upstream=None):
    """Return whether the bug gives a wrong gradient for a random input with so many rows and columns."""
    import torch

    inp = torch.randn(bs, n, generator=torch.Generator().manual_seed(7 * bs + n), dtype=torch.float64)
    out = inp.mean(1)
    out.g = inp[:, 0] + 2 * inp[:, -1] + 1 if upstream is None else upstream(out)
    right = out.g[:, None].expand(inp.shape) / n
    bug(inp, out)
    return inp.g.shape != right.shape or not torch.allclose(inp.g, right)


def _smallest(order, start=1, shows=_shows):
    """Return a rule that tries all sizes from `start` to 6 in some order and gives the first at which a bug shows."""

    def rule(bug):
        sizes = [(bs, n) for bs in range(start, _LARGEST + 1) for n in range(start, _LARGEST + 1)]
        return next((size for size in sorted(sizes, key=order) if shows(bug, *size)), (_LARGEST, _LARGEST))

    return rule


def _by_entries(size):
    return size[0] * size[1], size[0]


def _one_of_two(code, rule, says, hint):
    """Return the same misconception about bs and about n."""

    def part(place):
        return Misconception(code, f"return.{place}", lambda bug: rule(bug)[place], says, (hint,))

    return part(0), part(1)


def _both_grow(bug):
    return next((k, k) for k in range(1, _LARGEST + 1) if k == _LARGEST or _shows(bug, k, k))


smallest_failing_input = Routine(
    title="The smallest input at which a bug shows",
    inputs={"bug": _BUGS},
    reference=_smallest(_by_entries),
    returns=2,
    hints={
        "return.0": (
            "How can a program find out whether a bug shows at given sizes?",
            "Try sizes one after the other. In which order, so that the first one that fails is the answer?",
            "Sort all pairs of sizes from 1 to 6 by number of entries, then by bs; draw `inp` and `out.g` at random for"
            " each.",
        ),
        "return.1": (
            "How can a program find out whether a bug shows at given sizes?",
            "Try sizes one after the other. In which order, so that the first one that fails is the answer?",
            "Sort all pairs of sizes from 1 to 6 by number of entries, then by bs; draw `inp` and `out.g` at random for"
            " each.",
        ),
    },
    misconceptions=(
        *_one_of_two(
            "wrong-operand",
            lambda bug: _smallest(_by_entries)(bug)[::-1],
            "bs and n are swapped",
            "Which is the number of rows: bs, or n?",
        ),
        *_one_of_two(
            "shape-special",
            _both_grow,
            "only square inputs are tried, bs = n",
            "Is there a smaller input that is not square?",
        ),
        *_one_of_two(
            "shape-special",
            _smallest(_by_entries, start=2),
            "sizes are tried from 2 on; 1 is a size as well",
            "What are the smallest possible sizes?",
        ),
        *_one_of_two(
            "missing-upstream",
            _smallest(_by_entries, shows=lambda bug, bs, n: _shows(bug, bs, n, lambda out: out * 0 + 1)),
            "these are the smallest sizes for an upstream gradient of ones, which hides some bugs",
            "What does an upstream gradient of ones hide?",
        ),
        *_one_of_two(
            "wrong-operand",
            _smallest(lambda size: size),
            "the sizes are ordered by bs first: (1, 6) is tried before (2, 1), which has fewer entries",
            "Which of (1, 6) and (2, 1) has fewer entries?",
        ),
        *_one_of_two(
            "wrong-operand",
            _smallest(lambda size: size[::-1]),
            "the sizes are ordered by n first: (6, 1) is tried before (1, 2), which has fewer entries",
            "Which of (6, 1) and (1, 2) has fewer entries?",
        ),
        *_one_of_two(
            "wrong-operand",
            _smallest(lambda size: (size[0] * size[1], size[1])),
            "of two sizes with the same number of entries, the one with fewer columns is chosen; it must be the one"
            " with fewer rows",
            "Of (1, 2) and (2, 1), which has fewer rows?",
        ),
        *_one_of_two(
            "wrong-operand",
            _smallest(lambda size: (sum(size), size[0])),
            "the sizes are ordered by bs + n; they must be ordered by the number of entries, bs * n",
            "How many entries does an array of 2 rows and 3 columns have?",
        ),
    ),
)

# Backward passes with one wrong line each. What is wrong is wrong in every answer.


def _rnn(x, h, wx, wh, b):
    """h = (x[:, i] @ wx + h @ wh + b).tanh() for each time step i; out is the last h"""
    for i in range(x.shape[1]):
        h = (x[:, i] @ wx + h @ wh + b).tanh()
    return h


def _layernorm(inp, gamma, beta):
    """out = gamma * (inp - mean) / (var + 1e-5).sqrt() + beta, mean and biased var over the last axis"""
    mean = inp.mean(-1, keepdim=True)
    centred = inp - mean
    var = (centred**2).mean(-1, keepdim=True)
    hat = centred / (var + 1e-5).sqrt()
    return gamma * hat + beta


def _attention(q, k, v):
    """out = weights @ v, weights = scores.softmax(1), scores = q @ k.t() / root, root = d ** 0.5"""
    root = q.shape[-1] ** 0.5
    scores = q @ k.t() / root
    weights = scores.softmax(1)
    return weights @ v


# What a wrong line makes of the program of the forward pass.
def _with_variance(wrong):
    """Return the edit that computes the forward pass with another variance, a function of the right one and of n."""

    def edit(program, inp):
        (_, variance) = program.nodes_of("mean")
        changed = {variance: lambda node: node.then(lambda right: wrong(right, inp.shape[-1]))}
        return program.with_nodes(changed, "values")

    return edit


def _with_mean_of_batch(program, inp):
    """Return the forward pass with the mean of each column; the backward pass treats centred rows as of mean 0."""
    (_, variance), (centred,), (quotient,) = map(program.nodes_of, ("mean", "sub", "div"))
    columns, right = (inp - inp.mean(0)).numpy(), program.nodes[variance].value
    changes = {centred: lambda node: node.then(lambda _: columns), variance: lambda node: node.then(lambda _: right)}
    program = program.with_nodes(changes, "values")
    return program.with_vjp((centred, 1), lambda at: at.right(at.sweep.contribution((quotient, 0))))


def _with_slope_before(program):
    for product, tanh in zip(program.nodes_of("matmul")[1::2], program.nodes_of("tanh"), strict=True):
        before = program.nodes[product].values[0]
        program = program.with_vjp((tanh, 0), lambda at, before=before: at.right(value=before))
    return program


def _without_weights(program):
    for product in program.nodes_of("matmul")[1::2]:
        program = program.with_vjp((product, 0), lambda at: at.g)
    return program


def _from_first_moment(program):
    moments = range(len(program.nodes_of("tanh")))
    return program.with_iterations(moments[::-1])


def _cross_entropy(inp, targ):
    """loss = (inp.logsumexp(-1) - inp[range(bs), targ]).mean()"""
    bs = len(targ)
    return (inp.logsumexp(-1) - inp[range(bs), targ]).mean()


def _mend_hints(*names, first, then, last):
    return dict.fromkeys(names, (first, then, last))


mend_linear = Exercise(
    title="Fix a linear layer with relu",
    forward=lambda inp, w, b: (inp @ w + b).relu(),
    inputs={"inp": normal("bs n"), "w": weights("n m"), "b": normal("m"), "out": output()},
    answers=stored("inp.g", "w.g", "b.g"),
    faulty="""\
# One line is wrong.
pre_g = out.g * out
inp.g = pre_g @ w.t()
w.g = inp.t() @ pre_g
b.g = pre_g.sum(0)""",
    hints=_mend_hints(
        "inp.g",
        "w.g",
        "b.g",
        first="Every answer is wrong. Which line do all of them depend on?",
        then="What does relu do to a nudge: how much of it remains where `out` is 0.3, and how much where it is 3?",
        last="The derivative of relu is either 1 or 0. Where is it 1, and where is it 0?",
    ),
)

mend_cross_entropy = Exercise(
    title="Fix cross-entropy",
    forward=_cross_entropy,
    inputs={"inp": normal("bs c"), "targ": indices("bs", "c")},
    answers=stored("inp.g"),
    faulty="""\
# One line is wrong.
inp.g = inp.softmax(-1)
inp.g[range(len(targ)), targ] -= 1
inp.g /= inp.shape[1]""",
    hints=_mend_hints(
        "inp.g",
        first="Compare the answer with nudges, at sizes where bs differs from c. How are the two related?",
        then="Each row sums to 0, as it should. What else can be wrong?",
        last="Does the loss average over the classes, or over the rows?",
    ),
)

mend_layernorm = Exercise(
    title="Fix layer norm",
    forward=_layernorm,
    inputs={"inp": sized(normal("bs n"), n=(4, 5, 6)), "gamma": normal("n"), "beta": normal("n"), "out": output()},
    answers=stored("inp.g", "gamma.g"),
    faulty="""\
# One line is wrong.
mean = inp.mean(-1, keepdim=True)
inv = (inp.var(-1, keepdim=True) + 1e-5) ** -0.5
hat = (inp - mean) * inv
hat_g = out.g * gamma
inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
gamma.g = (out.g * hat).sum(0)""",
    hints=_mend_hints(
        "inp.g",
        "gamma.g",
        first="`gamma.g` is wrong as well, and depends on two things. Which of them is suspect?",
        then="Is `gamma * hat + beta` equal to the `out` that the function is given? Compare them.",
        last="By what does `var` divide by default: n, or n - 1?",
    ),
    misconceptions=(
        *edited(
            _layernorm,
            "inp gamma",
            "wrong-factor",
            _with_variance(lambda right, n: right * n / (n - 1)),
            "the variance is divided by n - 1; in the forward pass it is divided by n",
            "By what does `var` divide by default?",
        ),
        *edited(
            _layernorm,
            "inp gamma",
            "wrong-operand",
            _with_variance(lambda right, n: right**0.5),
            "the square root is taken of the standard deviation; it must be taken of the variance",
            "Which of the two contains a square root already?",
        ),
        *edited(
            _layernorm,
            "inp gamma",
            "wrong-operand",
            _with_variance(lambda right, n: (right * n / (n - 1)) ** 0.5),
            "the square root is taken of the standard deviation (with n - 1); it must be taken of the variance",
            "Which of the two contains a square root already?",
        ),
        *edited(
            _layernorm,
            "inp gamma",
            "summed-wrong-axis",
            _with_mean_of_batch,
            "the mean is taken over the batch; in the forward pass it is taken over each row",
            "Over which axis does layer norm normalize?",
        ),
    ),
)

mend_rnn = Exercise(
    title="Fix backpropagation through time",
    forward=_rnn,
    inputs={
        "x": normal("bs t n"),
        "h": normal("bs m"),
        "wx": weights("n m"),
        "wh": weights("m m"),
        "b": normal("m", scale=0.5),
        "out": output(),
    },
    answers=stored("x.g", "h.g", "wx.g", "wh.g", "b.g"),
    faulty="""\
# One line is wrong.
states = [h]
for i in range(x.shape[1]):
    states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
h.g = out.g
for i in reversed(range(x.shape[1])):
    sums_g = (1 - states[i + 1] ** 2) * h.g
    x.g[:, i] = sums_g @ wx.t()
    wx.g += x[:, i].t() @ sums_g
    wh.g += states[i].t() @ sums_g
    b.g += sums_g.sum(0)
    h.g = sums_g @ wh""",
    hints=_mend_hints(
        "x.g",
        "h.g",
        "wx.g",
        "wh.g",
        "b.g",
        first="Try it with a single time step, t = 1. Which answers are right there?",
        then="With one time step only `h.g` is wrong. What is passed on to the previous time step?",
        last="A wrong transpose raises an error only where the sizes differ. Which matrix here is always square?",
    ),
    misconceptions=(
        *edited(
            _rnn,
            "x h wx wh b",
            "wrong-point",
            _with_slope_before,
            "the derivative of tanh uses the state before each time step; it must use the state after it",
            "Which state is the output of the tanh in time step `i`: `states[i]`, or `states[i + 1]`?",
        ),
        *edited(
            _rnn,
            "x h wx wh b",
            "missing-local",
            _without_weights,
            "wh is missing from the gradient that is passed on to the previous time step",
            "Does the previous state enter the sum before the tanh as it is, or multiplied by something?",
        ),
        *edited(
            _rnn,
            "x h wx wh b",
            "wrong-point",
            _from_first_moment,
            "the backward pass visits the time steps from the first to the last; it must begin with the last",
            "Which time step is closest to `out`, where the gradient starts?",
        ),
    ),
)

mend_attention = Exercise(
    title="Fix attention",
    forward=_attention,
    inputs={"q": normal("s d"), "k": normal("t d"), "v": normal("t e"), "out": output()},
    answers=stored("q.g", "k.g", "v.g"),
    faulty="""\
# One line is wrong.
root = q.shape[1] ** 0.5
weights = (q @ k.t() / root).softmax(0)
weights_g = out.g @ v.t()
scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
q.g = scores_g @ k
k.g = scores_g.t() @ q
v.g = weights.t() @ out.g""",
    hints=_mend_hints(
        "q.g",
        "k.g",
        "v.g",
        first="`v.g` depends on two things only, and it is wrong. Which of them can be checked on its own?",
        then="Is `weights @ v` equal to the `out` that the function is given?",
        last="Each query distributes its attention over the keys. Which sums of `weights` must be 1?",
    ),
)
