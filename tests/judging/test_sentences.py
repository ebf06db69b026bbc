"""What a learner reads of a wrong answer: the sentence fits the mistake, whatever numbers are drawn.

`thorough/test_sentences_of_corpus.py` looks at the sentences of the whole corpus.
"""

from __future__ import annotations

import re

import pytest
import torch
from helpers.corpus import SUBMISSIONS
from helpers.courses import ROOT
from helpers.grading import Grade
from helpers.sentences import without_numbers

from grader.diagnosis.hints import HINTS as HINTS_OF_CODES

SEEDS = (1, 2, 3)
RNN_STATES = """
def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += out[:, i - 1].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g
"""
RNN = (ROOT / "solutions/11_time/rnn_grad.py").read_text("utf-8")
RIGHT_STATES = (ROOT / "solutions/11_time/rnn_states_grad.py").read_text("utf-8")
SOLVE = """
def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = out @ b.g.t()
"""
BLOCK = """
def block_grad(x, wq, wk, wv, wo, w1, w2, out):
    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    hat, _ = norm(x + mixed @ wo)
    hidden = (hat @ w1).clamp_min(0)
    w2.g, w1.g = weight_g(hidden, out.g), weight_g(hat, (out.g @ w2.t()) * (hidden > 0))
    wo.g, mixed_g = weight_g(mixed, out.g), out.g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    n_g = q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t()
    x.g = out.g + n_inv * (n_g - n_g.mean(-1, keepdim=True) - n * (n_g * n).mean(-1, keepdim=True))
"""
SENTENCES = {  # (exercise, source, answer): the sentence, with # for every number
    "an axis is named only where its size is that of the axis in all trials": (
        "conv1d_grad",
        "def conv1d_grad(inp, w, b, out):\n    inp.g = w.g = b.g = out.g.sum(0)[:, 1:]\n",
        "b.g",
        "its shape is (o=#, #); it should be that of b, (o=#,)",
    ),
    "finite entries are explained where others are nan": (
        "pow_both_grad",
        "def pow_both_grad(a, b, out):\n    a.g = out.g * b * a ** (b - 1)\n    b.g = out.g * out * b.log()\n",
        "b.g",
        "# of # entries are inf or nan; in the finite entries, in b.g, b is used in place of a",
    ),
    "the argument is named that is 0 wherever an entry is nan": (
        "two_paths_grad",
        "def two_paths_grad(inp, out):\n    inp.g = out.g * (out / inp + inp * (1 + inp.cos()))\n",
        "inp.g",
        "# of # entries are inf or nan: those where inp is exactly #",
    ),
    "an upstream gradient is named that is 0 wherever an entry is nan": (
        "two_paths_grad",
        "def two_paths_grad(inp, out):\n    g = out.g / out.g * out.g\n"
        "    inp.g = g * (inp.sin() + inp * inp.cos() + 2 * inp)\n",
        "inp.g",
        "# of # entries are inf or nan: those where out.g is exactly #",
    ),
    "a wrong sign on the only path is one of the whole answer": (
        "info_nce_grad",
        "def info_nce_grad(a, b, temperature):\n"
        "    g = (torch.eye(len(a)) - (a @ b.t() / temperature).softmax(-1)) / len(a)\n"
        "    a.g, b.g = g @ b / temperature, g.t() @ a / temperature\n",
        "a.g",
        "this is the right answer with the wrong sign",
    ),
    "of a product of two paths it is said from which one a factor is missing": (
        "silu_grad",
        "def silu_grad(inp, out):\n    s = inp.sigmoid()\n    inp.g = out.g * (1 + inp * s * (1 - s))\n",
        "inp.g",
        "in inp.g, the factor `inp.sigmoid()` in the derivative of `inp * inp.sigmoid()` is missing",
    ),
    "the logarithm of a power is that of the base": (
        "pow_both_grad",
        "def pow_both_grad(a, b, out):\n    a.g = out.g * b * a ** (b - 1)\n    b.g = out.g * out * out.log()\n",
        "b.g",
        "in b.g, the logarithm is that of `out`; it must be that of a",
    ),
    "a share that is not halved is no path counted twice": (
        "gelu_grad",
        "def gelu_grad(inp, out):\n    density = (-(inp**2) / 2).exp() / (2 * torch.pi) ** 0.5\n"
        "    inp.g = (1 + (inp / 2**0.5).erf() + inp * density) * out.g\n",
        "inp.g",
        "the term `phi` is twice what it should be: # + erf(...) must be divided by #",
    ),
    "a slope is missing on one side only": (
        "leaky_relu_grad",
        "def leaky_relu_grad(inp, out, slope):\n    inp.g = out.g.clone()\n",
        "inp.g",
        "where inp is negative, the factor `slope` is missing",
    ),
    "a mask that is not used is not wrong": (
        "where_grad",
        "def where_grad(mask, a, b, out):\n    a.g, b.g = out.g * (a > b), out.g * (b >= a)\n",
        "a.g",
        "a gets its gradient where a > b; it must get it where mask is #",
    ),
    "of a transposition before a reshape both are named": (
        "reshape_grad",
        "def reshape_grad(inp, out):\n    inp.g = out.g.t().reshape(inp.shape)\n",
        "inp.g",
        "out.g is transposed before it is reshaped; it must only be reshaped",
    ),
    "an array that is reshaped before its axes are swapped is said to be": (
        "conv2d_grad",
        "def conv2d_grad(inp, w, b, out, stride, padding):\n    o, c, *size = w.shape\n"
        "    cols = torch.nn.functional.unfold(inp, size, padding=padding, stride=stride)\n"
        "    g = out.g.flatten(2)\n    b.g, inp.g = g.sum((0, 2)), None\n"
        "    flat = torch.einsum('bop,bkp->ok', g, cols)\n    w.g = flat.reshape(o, *size, c).permute(0, 3, 1, 2)\n",
        "w.g",
        "these are the entries of the right answer in the wrong places, as after a reshape and then a permute",
    ),
    "values that are rotated back are not searched for in the code": (
        "rope_grad",
        "def rope_grad(inp, out):\n    c = inp.shape[-1] // 2\n"
        "    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)\n"
        "    p, q, cos, sin = out[..., :c], out[..., c:], angle.cos(), angle.sin()\n"
        "    inp.g = torch.cat((p * cos + q * sin, q * cos - p * sin), -1)\n",
        "inp.g",
        "this is inp again, as if `out` were rotated back in place of out.g",
    ),
    "of a function that is called twice the call is named": (
        "block_grad",
        BLOCK,
        "x.g",
        "no gradient goes through `x - x.mean(#, keepdim=True)` in `norm(h)`, as if it were constant",
    ),
    "rows that are nudged as a whole are named": (
        "numerical_grad",
        "def numerical_grad(f, x, h):\n    grad = torch.zeros_like(x)\n    for i in range(len(x)):\n"
        "        step = torch.zeros_like(x)\n        step[i] = h\n"
        "        grad[i] = (f(x + step) - f(x - step)) / (2 * h)\n    return grad\n",
        "return",
        "all entries of a row `x[i]` are nudged at once; each entry must be nudged alone",
    ),
    "the steps of two dtypes are swapped": (
        "pick_h",
        "def pick_h(dtype):\n    return 5e-3 if dtype == torch.float64 else 6e-6\n",
        "return",
        "the steps of the two dtypes are swapped",
    ),
    "a step that is good for one dtype is not exchanged": (
        "pick_h",
        "def pick_h(dtype):\n    return 1e-2\n",
        "return",
        "the step is # for both dtypes, but the best step is not the same for both",
    ),
    "a multiple of the upstream gradient is one mistake": (
        "dropout_grad",
        "def dropout_grad(inp, out, mask, p):\n    inp.g = out.g * (1 - p)\n",
        "inp.g",
        "this is out.g times (# - p), p = # here; the factor must be the derivative of `out` with respect to inp",
    ),
    "a mean in place of a selection is one mistake": (
        "stack_grad",
        "def stack_grad(a, b, out, dim):\n    a.g, b.g = out.g.mean(dim), out.g.mean(dim)\n",
        "a.g",
        "this is the mean of the right answer and b.g",
    ),
    "a divisor has the name that the forward pass gives it": (
        "rmsnorm_grad",
        "def rmsnorm_grad(inp, gamma, out):\n    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()\n"
        "    g, hat = out.g * gamma, inp / rms\n    gamma.g = (out.g * hat).sum(0)\n"
        "    inp.g = g - hat * (g * hat).mean(-1, keepdim=True)\n",
        "inp.g",
        "inp.g is not divided by `rms`",
    ),
    "the axis of a mean that is subtracted is named": (
        "lin_grad",
        "def lin_grad(inp, out, w, b):\n    inp.g, b.g = out.g @ w.t(), out.g.sum(0)\n"
        "    w.g = inp.t() @ (out.g - out.g.mean(0))\n",
        "w.g",
        "in place of out.g, the backward pass uses out.g minus its mean over bs",
    ),
    "the path is named that the upstream gradient is missing on": (
        "two_paths_grad",
        "def two_paths_grad(inp, out):\n    inp.g = (inp.sin() + inp * inp.cos()) * out.g + 2 * inp\n",
        "inp.g",
        "on the path through `inp**#`, the factor out.g is missing: your code treats it as #",
    ),
    "an argument is named as such, not as a gradient": (
        "hvp_logistic",
        "def hvp_logistic(w, x, targ, v):\n    p = (x @ w).sigmoid()\n"
        "    return x.t() @ (p * (1 - p) * (x @ v)) / len(x) + v\n",
        "return",
        "v is added to the right answer",
    ),
    "an ordinary trial is not named": (
        "sqrt_grad",
        "def sqrt_grad(inp, out):\n    inp.g = out.g.sqrt() / (2 * out)\n",
        "inp.g",
        "# of # entries are inf or nan; in the finite entries, out.g multiplies inp inside `inp.sqrt()`; it "
        "must multiply the derivative of `inp.sqrt()`",
    ),
    "the state before the first step is the last one": (
        "rnn_states_grad",
        RNN_STATES,
        "wh.g",
        "in wh.g, at the first time step, h of the last time step is used in place of h0",
    ),
    "a transpose with the wrong sign is not read back": (
        "solve_grad",
        SOLVE,
        "a.g",
        "this is the transpose of the right answer, with the wrong sign",
    ),
    "a sentence that an exercise declares for two answers is told once": (
        "momentum_step",
        "def momentum_step(p, g, m, lr, beta):\n    m = beta * m + (1 - beta) * g\n    return p - lr * m, m\n",
        "return.1",
        "the same mistake as in the first value returned",
    ),
    "a product with a wrong answer is right, given that": (
        "solve_grad",
        "def solve_grad(a, b, out):\n    b.g = torch.linalg.solve(a, out.g)\n    a.g = -b.g @ out.t()\n",
        "a.g",
        "this is right, given your b.g; fix b.g first",
    ),
    "a product that lacks a factor": (
        "inverse_grad",
        "def inverse_grad(a, out):\n    a.g = out.t() @ out.g\n",
        "a.g",
        "this is `out.t() @ out.g`; the factor `out` and a minus sign are missing",
    ),
    "the second of the returned values has the cause of the first": (
        "clip_grad_norm",
        "def clip_grad_norm(grads, limit):\n    return [g * min(1.0, limit / float(g.norm())) for g in grads]\n",
        "return.1",
        "the same mistake as in the first value returned",
    ),
    "rows are standardized, and not columns": (
        "standardize_grad",
        "def standardize_grad(inp, out):\n"
        "    std = (inp.var(0, unbiased=False, keepdim=True) + 1e-5).sqrt()\n"
        "    inp.g = (out.g - out.g.mean(0) - out * (out.g * out).mean(0)) / std\n",
        "inp.g",
        "in inp.g, the mean and the standard deviation are taken over bs; they must be taken over n",
    ),
    "columns of two rows, of which rounding leaves little": (
        "standardize_grad",
        "def standardize_grad(inp, out):\n"
        "    std = (inp.var(0, unbiased=False, keepdim=True) + 1e-5).sqrt()\n"
        "    hat = (inp - inp.mean(0)) / std\n"
        "    inp.g = (out.g - out.g.mean(0) - hat * (out.g * hat).mean(0)) / std\n",
        "inp.g",
        "in inp.g, the mean and the standard deviation are taken over bs; they must be taken over n",
    ),
    "a count of all is a count": (
        "shifted_relu_grad",
        "def shifted_relu_grad(inp, out):\n"
        "    inp.g = out.g * (inp > 0) + (inp <= 0) * (out.g.abs() + 1) * inp.cos().abs()\n",
        "inp.g",
        "all # entries that must be # are nonzero; the others are right",
    ),
    "two branches are swapped, none of which gets 0": (
        "leaky_relu_grad",
        "def leaky_relu_grad(inp, out, slope):\n"
        "    inp.g = out.g * torch.where(inp > 0, slope, torch.ones_like(inp))\n",
        "inp.g",
        "the two branches of `where` are swapped in the backward pass: each gets a"
        " gradient where the other one was chosen",
    ),
    "the gain has its name from the stub": (
        "layernorm_grad",
        "def layernorm_grad(inp, gamma, beta, out):\n"
        "    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()\n"
        "    hat = (inp - inp.mean(-1, keepdim=True)) / std\n"
        "    means = out.g.mean(-1, keepdim=True) + hat * (out.g * hat).mean(-1, keepdim=True)\n"
        "    inp.g = gamma * (out.g - means) / std\n",
        "inp.g",
        "in inp.g, gamma is applied after the means; it must be applied before the means are taken",
    ),
    "a gain before the division has its name, too, and one mean is no means": (
        "rmsnorm_grad",
        "def rmsnorm_grad(inp, gamma, out):\n"
        "    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()\n"
        "    hat = inp / rms\n"
        "    inp.g = gamma * (out.g - hat * (out.g * hat).mean(-1, keepdim=True)) / rms\n",
        "inp.g",
        "in inp.g, gamma is applied after the mean; it must be applied before the mean is taken",
    ),
    "a mask is made of the numbers that go into its operation": (
        "hinge_grad",
        "def hinge_grad(inp, targ):\n    inp.g = -targ * (inp < 1) / len(inp)\n",
        "inp.g",
        "the derivative of `clamp_min` is taken at `# - inp`; it must be taken at `# - targ * inp`",
    ),
    "the mean that is missing is that of the gradient of the normalized value": (
        "layernorm_grad",
        "def layernorm_grad(inp, gamma, beta, out):\n"
        "    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()\n"
        "    hat = (inp - inp.mean(-1, keepdim=True)) / std\n"
        "    g = out.g * gamma\n"
        "    inp.g = (g - hat * (g * hat).mean(-1, keepdim=True)) / std\n",
        "inp.g",
        "in inp.g, the path through the mean is missing: subtract the mean of the gradient of `hat`",
    ),
    "of a transposed factor the gradient of the factor itself is meant": (
        "info_nce_grad",
        "import torch\ndef info_nce_grad(a, b, temperature):\n"
        "    scores = (a @ b.t() / temperature).softmax(-1)\n"
        "    scores_g = (scores - torch.eye(len(a))) / len(a) / temperature\n"
        "    a.g, b.g = scores_g @ b, scores_g @ a\n",
        "b.g",
        "in b.g, the gradient of `a @ b.t()` must be transposed",
    ),
    "a wrong length is no choice between two options": (
        "unfold_grad",
        "def unfold_grad(inp, out, size, step):\n"
        "    inp.g = torch.zeros(inp.shape[0], (out.shape[1] - 1) * step + size)\n"
        "    for i in range(out.shape[1]):\n"
        "        inp.g[:, i * step : i * step + size] += out.g[:, i]\n",
        "inp.g",
        "its shape is (bs=#, #); it should be that of inp, (bs=#, t=#); here `size` is # and `step` is #",
    ),
    "a Jacobian that is summed over the outputs lacks no upstream gradient": (
        "df_dx",
        "def df_dx(x, w, b):\n    return w.sum(1)\n",
        "return",
        "this is the right answer summed over m; the answer must keep this axis",
    ),
    "a test that calls nothing is told so": (
        "test_softmax",
        "def test_softmax(backward):\n    assert torch.randn(4, 6).softmax(1).sum() > 0\n",
        "verdicts",
        "your test rejects # of # wrong backward passes and accepts # of # right ones. One of the wrong ones that it"
        " accepts returns the gradient and stores nothing. Your test accepts even a backward pass that raises an error:"
        " it never calls `backward`, or it catches the error",
    ),
    "a mean that is copied to every entry has the right shape": (
        "pad_grad",
        "def pad_grad(inp, out, before, after):\n"
        "    inp.g = out.g[:, before : before + inp.shape[1]].mean(1, keepdim=True).expand(inp.shape)\n",
        "inp.g",
        "this is the right answer averaged over n; each entry must get its own gradient",
    ),
    "a product in place of a quotient is no wrong divisor": (
        "dropout_grad",
        "def dropout_grad(inp, out, mask, p):\n    inp.g = out.g * mask * (1 - p)\n",
        "inp.g",
        "in the derivative of `inp * mask / (# - p)`, `* (# - p)` is used in place of `/ (# - p)`",
    ),
    "a function has no gradient, but the masked scores have one": (
        "masked_softmax_grad",
        "def masked_softmax_grad(scores, out, mask):\n"
        "    scores.g = out * (out.g - (out.g * out).mean(-1, keepdim=True))\n",
        "scores.g",
        "in the gradient of the masked scores through the softmax, the mean over the row is subtracted; it must be the"
        " sum",
    ),
    "the entries that a row is divided by are counted as the learner counts them": (
        "masked_softmax_grad",
        "def masked_softmax_grad(scores, out, mask):\n"
        "    g = out * (out.g - (out.g * out).sum(-1, keepdim=True))\n"
        "    scores.g = g / mask.sum(-1, keepdim=True)\n",
        "scores.g",
        "in the gradient of the masked scores through the softmax, the result is divided by the number of unmasked"
        " entries in the row; it must not be divided",
    ),
    "the axis along which a gradient is moved is named": (
        "nll_grad",
        "def nll_grad(inp, targ):\n    inp.g = torch.zeros_like(inp)\n"
        "    inp.g[torch.arange(len(targ)), targ - 1] = -1 / len(targ)\n",
        "inp.g",
        "the gradient of `inp[range(bs), targ]` is stored one position before the right one along c; store it where the"
        " entries were taken from",
    ),
    "a factor on the only path, through a view, is one of every entry": (
        "groupnorm_grad",
        "def groupnorm_grad(inp, gamma, beta, out, groups):\n"
        "    inp.g = gamma.g = None\n    beta.g = out.g.mean(0).sum(1)\n",
        "beta.g",
        "every entry is #/# of what it should be, and bs = # here",
    ),
    "a factor on all paths of a loop is one of every entry": (
        "rnn_states_grad",
        RNN_STATES.replace("sums_g.sum(0)", "sums_g.mean(0)"),
        "b.g",
        "every entry is #/# of what it should be, and bs = # here",
    ),
    "a value that a learner computes from others is called the value of its operation": (
        "linear_grad",
        "def linear_grad(inp, out, weight, bias):\n    inp.g, bias.g = out.g @ weight, out.g.sum(0)\n"
        "    weight.g = (out - bias).t() @ inp\n",
        "weight.g",
        "in weight.g, the value of `inp @ weight.t()` is used in place of its gradient",
    ),
    "a product that is not summed is called elementwise": (
        "input_grad",
        "def input_grad(x, w, b, df):\n    return w * df\n",
        "return",
        "this is an elementwise product; it must also be summed over m",
    ),
    "a sum in the forward pass alone makes later derivatives wrong": (
        "dloss_dx",
        "def dloss_dx(x, target):\n    y = x + 2\n    out = (3 * y**2).sum()\n"
        "    return 2 * (out - target) * 6 * y / x.numel()\n",
        "return",
        "`z.mean()` is computed as a sum, so the derivatives that use its value are wrong",
    ),
    "a sum in both passes is used in place of the mean": (
        "var_grad",
        "def var_grad(inp, out, dim, unbiased):\n    d = inp - inp.sum(dim, keepdim=True)\n"
        "    inp.g = 2 * d / (inp.shape[dim] - int(unbiased)) * out.g.unsqueeze(dim)\n",
        "inp.g",
        "a sum is used in place of `inp.mean(dim, keepdim=True)`",
    ),
    "one number has a relative error": (
        "central_difference",
        "import numpy as np\ndef central_difference(f, x, h):\n"
        "    return float(np.float32(f(x + h) - f(x - h)) / np.float32(2 * h))\n",
        "return",
        "it is close, but not exact: its relative error is up to #e-#",
    ),
    "no upstream gradient is given, so it is said whose is meant": (
        "l2_penalty_grad",
        "def l2_penalty_grad(w, lam):\n    w.g = 2 * w + lam\n",
        "w.g",
        "the upstream gradient of `w**#` is added to its derivative; multiply the two",
    ),
    "a position along an axis is no slice": (
        "slice_grad",
        "def slice_grad(inp, out, start, stop):\n    inp.g = torch.zeros_like(inp)\n"
        "    inp.g[:, start] = out.g[:, 0]\n",
        "inp.g",
        "of the positions of out.g along axis # of `out`, only the first is used",
    ),
    "the contribution that is written last is left": (
        "rnn_grad",
        RNN.replace("wx.g += ", "wx.g = ").replace("wh.g += ", "wh.g = ").replace("b.g += ", "b.g = "),
        "wx.g",
        "only the contribution of the first time step, which the backward pass visits last, is left in wx.g; the"
        " contributions of all time steps must be added",
    ),
    "a division that is missing is called a division": (
        "mend_attention",
        "def mend_attention(q, k, v, out):\n    root = q.shape[1] ** 0.5\n    weights = (q @ k.t()).softmax(1)\n"
        "    weights_g = out.g @ v.t()\n"
        "    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root\n"
        "    q.g, k.g, v.g = scores_g @ k, scores_g.t() @ q, weights.t() @ out.g\n",
        "q.g",
        "in `q @ k.t() / root`, the division by `q.shape[#] ** #` is missing in your forward pass",
    ),
    "the average of a window is shared among its entries": (
        "maxpool1d_grad",
        "def maxpool1d_grad(inp, out, size, step):\n    inp.g = torch.zeros_like(inp)\n"
        "    for i in range(out.shape[-1]):\n"
        "        inp.g[..., i * step : i * step + size] += out.g[..., i, None] / size\n",
        "inp.g",
        "the gradient of the maximum is divided equally among all entries that are compared; it must go to the largest"
        " alone",
    ),
    "a gradient of the loop is not called out.g": (
        "rnn_grad",
        RNN.replace("b.g += sums_g", "b.g += h_g"),
        "b.g",
        "in b.g, the gradient of h is used in place of that of `x[:, i] @ wx + h @ wh + b`",
    ),
    "the upstream gradient of the last time step is used in a loop": (
        "rnn_grad",
        RNN.replace("b.g += sums_g", "b.g += out.g"),
        "b.g",
        "in b.g, out.g is used at every time step in place of the gradient of `x[:, i] @ wx + h @ wh + b`",
    ),
    "the upstream gradient of each time step is used in a loop": (
        "rnn_states_grad",
        RIGHT_STATES.replace("b.g += sums_g", "b.g += out.g[:, i]"),
        "b.g",
        "in b.g, only the contribution of `out` to the gradient of h"
        " is used in place of the gradient of `x[:, i] @ wx + h @ wh + b`",
    ),
    "what replaces is not added": (
        "rnn_states_grad",
        RIGHT_STATES.replace("h_g = sums_g", "h_g += sums_g"),
        "x.g",
        "the contribution of the next time step to the gradient of h is added to those of all later time steps; it must"
        " replace them",
    ),
    "a sign is wrong behind a gradient that is right": (
        "batchnorm_steps_grad",
        "def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):\n"
        "    beta.g, gamma.g, hat.g = out.g.sum(0), (out.g * hat).sum(0), out.g * gamma\n"
        "    inv.g = (hat.g * centred).sum(0)\n"
        "    var.g = -0.5 * inv**3 * inv.g\n"
        "    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)\n"
        "    mean.g = -centred.g.sum(0)\n"
        "    inp.g = centred.g - mean.g / len(inp)\n",
        "inp.g",
        "the contribution of `inp.mean(#)` to inp.g has the wrong sign",
    ),
    "a bias of a convolution is summed over too few axes": (
        "conv2d_grad",
        "def conv2d_grad(inp, w, b, out, stride, padding):\n    inp.g = w.g = None\n    b.g = out.g.sum((0, 2))\n",
        "b.g",
        "it is not summed over axis # of `out`",
    ),
    "a bias of a convolution is summed over its channels": (
        "conv1d_grad",
        "def conv1d_grad(inp, w, b, out):\n    inp.g = w.g = None\n    b.g = out.g.sum((0, 1))\n",
        "b.g",
        "in b.g, the sum runs over bs and o; it must run over bs and axis # of `out`",
    ),
    "a size is not called by a variable that may be wrong": (
        "mend_attention",
        "def mend_attention(q, k, v, out):\n    root = k.shape[0] ** 0.5\n"
        "    weights = (q @ k.t() / root).softmax(-1)\n"
        "    v.g = weights.t() @ out.g\n    weights_g = out.g @ v.t()\n"
        "    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root\n"
        "    q.g, k.g = scores_g @ k, scores_g.t() @ q\n",
        "q.g",
        "in `q @ k.t() / root`, `sqrt(k.shape[#])` is used in place of `sqrt(q.shape[#])`",
    ),
    "a power of a size is called by the size, not by a variable that may hold it": (
        "mend_attention",
        "def mend_attention(q, k, v, out):\n    root = q.shape[1] ** 1.0\n"
        "    weights = (q @ k.t() / root).softmax(1)\n"
        "    weights_g = out.g @ v.t()\n"
        "    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root\n"
        "    q.g, k.g, v.g = scores_g @ k, scores_g.t() @ q, weights.t() @ out.g\n",
        "q.g",
        "in `q @ k.t() / root`, `q.shape[#]` is used in place of `q.shape[#] ** #`",
    ),
    "a mean of the gradient of an inner value is not one of out.g": (
        "groupnorm_grad",
        "def groupnorm_grad(inp, gamma, beta, out, groups):\n"
        "    x = inp.reshape(len(inp), groups, -1)\n"
        "    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5\n"
        "    hat = (x - x.mean(-1, keepdim=True)) * inv\n"
        "    h = (out.g * gamma[:, None]).reshape(x.shape)\n"
        "    inp.g = (inv * (h - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)\n",
        "inp.g",
        "in the gradient of `grouped`, the path through the mean is missing: subtract the mean of the gradient of"
        " `hat`",
    ),
    "an updated weight may have a name of its own": (
        "forward_and_backward",
        "def forward_and_backward(inp, targ, w1, b1, w2, b2):\n    l1 = inp @ w1 + b1\n    l2 = l1.clamp_min(0)\n"
        "    diff = (l2 @ w2 + b2).squeeze(-1) - targ\n    g = (2 * diff / len(targ)).unsqueeze(-1)\n"
        "    g1 = g @ w2.t() * (l1 > 0)\n    w1_new = w1 - 0.01 * (inp.t() @ g1)\n    inp.g = g1 @ w1_new.t()\n"
        "    return diff.pow(2).mean()\n",
        "inp.g",
        "in inp.g, the updated w1, w1 minus # times its gradient, is used in place of w1",
    ),
    "a gradient is that of another loss": (
        "mse_grad_nd",
        "def mse_grad_nd(inp, targ):\n    d = inp - targ\n    inp.g = d / d.numel() / d.pow(2).mean().sqrt()\n",
        "inp.g",
        "the root of the loss is differentiated in place of the loss",
    ),
    "a linear answer is wrong at the zeros of its input": (
        "dropout_grad",
        "def dropout_grad(inp, out, mask, p):\n    inp.g = torch.where(inp == 0, out.g, out / inp * out.g)\n",
        "inp.g",
        "it is wrong only where inp is exactly #: in # of # entries, such as inp[#,#]",
    ),
    "what is missing in a function is missing in every call of it": (
        "block_grad",
        SUBMISSIONS["12_attention/block_grad: mean's path left out of the norms"].source,
        "x.g",
        "in every call of `norm`, the path through the mean is missing: subtract the mean of the gradient of its"
        " result",
    ),
    "an average of all entries lacks the shape of the input": (
        "dy_dx",
        "def dy_dx(x):\n    return torch.ones_like(x).sum() / x.numel()\n",
        "return",
        "this is the right answer averaged over all entries; the answer must have the shape of x",
    ),
    "an option that is hard-coded is the only one that is named": (
        "slice_grad",
        "def slice_grad(inp, out, start, stop):\n    inp.g = torch.zeros_like(inp)\n"
        "    inp.g[:, 1 : 1 + stop - start] = out.g\n",
        "inp.g",
        "it is right only when `start` is #",
    ),
    "of a product with a function of the same input, the term is named in which the derivative is wrong": (
        "two_paths_grad",
        "def two_paths_grad(inp, out):\n    inp.g = (inp.sin() + inp * inp.sin() + 2 * inp) * out.g\n",
        "inp.g",
        "in the term `inp * inp.sin()`, `inp.sin()` itself is used in place of its derivative",
    ),
    "a value that the submission computes anew is named by its expression": (
        "sigmoid_grad",
        "def sigmoid_grad(inp, out):\n    inp.g = inp.exp() / (1 + inp.exp()) * out.g\n",
        "inp.g",
        "`inp.sigmoid()` itself, which is `out`, is used in place of its derivative",
    ),
    "a relu of the upstream gradient is a mask made from it": (
        "relu_grad",
        "def relu_grad(inp, out):\n    inp.g = out.g.relu()\n",
        "inp.g",
        "in inp.g, out.g is kept where it is positive; it must be kept where inp is positive",
    ),
    "of axes that are swapped where the forward pass swaps none, it is said when": (
        "reshape_grad",
        "def reshape_grad(inp, out):\n    bs, n, m = inp.shape\n    inp.g = out.g.reshape(bs, m, n).transpose(1, 2)\n",
        "inp.g",
        "in inp.g, axes # and # (of sizes # and #) are swapped after the reshape; nothing but the reshape belongs"
        " there",
    ),
    "a gate that is swapped with the other one is right in its own derivative": (
        "gru_step_grad",
        "def gru_step_grad(x, h, w, u, b, out):\n    xr, xz, xn = (x @ w + b).chunk(3, -1)\n"
        "    hr, hz, hn = (h @ u).chunk(3, -1)\n    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()\n"
        "    n = (xn + r * hn).tanh()\n    n_g = out.g * z * (1 - n**2)\n"
        "    z_g, r_g = out.g * (n - h) * z * (1 - z), n_g * hn * r * (1 - r)\n"
        "    x.g = torch.cat((r_g, z_g, n_g), -1) @ w.t()\n",
        "x.g",
        "this is the gradient of a forward pass in which z and `# - z` are swapped",
    ),
    "entries that are summed after a broadcast are not scaled as well": (
        "mse_grad",
        "def mse_grad(inp, targ):\n    inp.g = 2 * (inp - targ).sum(1, keepdim=True) / len(inp)\n",
        "inp.g",
        "in the subtraction, each entry of inp meets every entry of targ, as if `inp.squeeze(#)` were left out",
    ),
    "entries that are averaged after a broadcast are not scaled as well": (
        "mse_grad",
        "def mse_grad(inp, targ):\n    inp.g = 2 * (inp - targ).mean(1, keepdim=True) / len(inp)\n",
        "inp.g",
        "in the subtraction, each entry of inp meets every entry of targ, as if `inp.squeeze(#)` were left out",
    ),
    "two means are one mistake": (
        "lin_grad",
        "def lin_grad(inp, out, w, b):\n    inp.g, b.g = out.g @ w.t(), out.g.sum(0)\n"
        "    w.g = torch.outer(inp.mean(0), out.g.mean(0))\n",
        "w.g",
        "in w.g, both factors are averaged over bs before they are multiplied; multiply first, then sum",
    ),
    "what is to be measured cannot be differentiated by hand": (
        "numerical_grad",
        "def numerical_grad(f, x, h):\n    x = x.clone().requires_grad_(True)\n    f(x).backward()\n"
        "    return x.grad\n",
        "return",
        "the function lets torch differentiate (numerical_grad.py, line #: x = x.clone().requires_grad_(True)); compute"
        " the answer as the exercise describes",
    ),
    "of two factors that are paired the wrong way round, none is said to be moved": (
        "lin_grad",
        "def lin_grad(inp, out, w, b):\n    inp.g, b.g = out.g @ w.t(), out.g.sum(0)\n"
        "    w.g = inp.flip(0).t() @ out.g\n",
        "w.g",
        "in w.g, inp at each index along bs is multiplied by out.g at the opposite index; the two indices must be the"
        " same",
    ),
    "a derivative is taken at another input, whether it is read from that or from its output": (
        "softmax_grad",
        "def softmax_grad(inp, out):\n    s = out[0]\n    inp.g = out.g @ (torch.diag(s) - torch.outer(s, s))\n",
        "inp.g",
        "the derivative is taken at the first row of inp in every row; it must be taken at inp",
    ),
    "a whole row of zeros is no tie": (
        "mend_linear",
        "def mend_linear(inp, w, b, out):\n    pre_g = out.g * (out > 0)\n"
        "    inp.g = (pre_g @ w.t()) * (inp != 0).any(1, keepdim=True)\n"
        "    w.g, b.g = inp.t() @ pre_g, pre_g.sum(0)\n",
        "inp.g",
        "it is wrong only where a whole row of inp is exactly #: in # of # entries, such as inp[#,#]",
    ),
    "three faults of one product are a list": (
        "rnn_step_grad",
        "def rnn_step_grad(x, h, wx, wh, b, out):\n    wh.g = ((1 - out**2) * out.g).t() @ h\n",
        "wh.g",
        "in wh.g, the two factors of the product are in the wrong order, h must be"
        " transposed, and the gradient of `h @ wh` must not be transposed",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_a_sentence_is_the_same_but_for_numbers(case: str, grade: Grade) -> None:
    exercise, source, name, sentence = SENTENCES[case]
    for seed in SEEDS:
        result = grade(exercise, f"import torch\n{source}", seed=seed)
        (message,) = (answer.message for answer in result.answers if answer.name == name)
        assert without_numbers(message) == sentence, f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_entries_of_a_bias_explain_nothing(seed: int, grade: Grade) -> None:
    """Its gradient does not depend on them, however many of them are equal where it is wrong."""
    source = (
        "def linear_grad(inp, out, weight, bias):\n    kept = (inp != 0).any(1)\n    inp.g = out.g @ weight\n"
        "    weight.g, bias.g = out.g.t() @ inp, out.g[kept].sum(0)\n"
    )
    message = grade("linear_grad", source, seed=seed).answers[2].message
    assert re.search("only where entries of .* are (exactly 0|equal|exactly 0 or equal): there, ", message), message


HINTS = {  # (exercise, source, answer): the hints that the code has for other mistakes, and that do not fit
    "the mean of a row": (
        "softmax_grad",
        "def softmax_grad(inp, out):\n    inp.g = out * (out.g - (out.g * out).mean(-1, keepdim=True))\n",
        "inp.g",
        "mean-for-sum",
    ),
    "the mean of the windows": (
        "conv1d_grad",
        "def conv1d_grad(inp, w, b, out):\n    inp.g = w.g = None\n    b.g = out.g.mean(2).sum(0)\n",
        "b.g",
        "mean-for-sum",
    ),
    "probabilities of the columns": (
        "smooth_cross_entropy_grad",
        "import torch.nn.functional as F\ndef smooth_cross_entropy_grad(inp, targ, eps):\n"
        "    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]\n"
        "    inp.g = (inp.softmax(0) - truth) / len(inp)\n",
        "inp.g",
        "summed-wrong-axis",
    ),
    "no parentheses": (
        "tanh_grad",
        "def tanh_grad(inp, out):\n    inp.g = 1 - out ** 2 * out.g\n",
        "inp.g",
        "missing-upstream",
    ),
    "no mask": (
        "causal_attention_grad",
        "def causal_attention_grad(q, k, v, out):\n"
        "    q.g = k.g = None\n"
        "    v.g = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1).mT @ out.g\n",
        "v.g",
        "wrong-point",
    ),
}


@pytest.mark.parametrize("case", HINTS)
def test_hints_follow_the_finding_and_not_its_code(case: str, grade: Grade) -> None:
    exercise, source, name, code = HINTS[case]
    (answer,) = (answer for answer in grade(exercise, source, seed=1).answers if answer.name == name)
    assert answer.code == code
    assert not set(answer.hints) & {*HINTS_OF_CODES[code][:1], *HINTS_OF_CODES[code][2:]}


FITTING_HINTS = {  # (exercise, source, answer): what a hint must say, and what none may
    "an array that is divided in place is given": (
        "lin_grad",
        "def lin_grad(inp, out, w, b):\n    out.g /= len(inp)\n    inp.g = out.g @ w.t()\n",
        "inp.g",
        "`x /= 2`",
        "Print the arguments",
    ),
    "a tangent is no gradient": (
        "jvp_dual",
        "def jvp_dual(f, x, v):\n    return torch.func.jvp(f, (x,), (v,))[1]\n",
        "return",
        "without autograd",
        "gradient",
    ),
    "a Jacobian is no gradient": (
        "jacobian_by_rows",
        "def jacobian_by_rows(vjp, x, m):\n    return torch.stack([vjp(x, row) for row in torch.eye(m)], 1)\n",
        "return",
        "Which axis comes first",
        "gradient",
    ),
    "a right class is told from an equal score by its index": (
        "mend_cross_entropy",
        "def mend_cross_entropy(inp, targ):\n    hot = (inp == inp.gather(1, targ.unsqueeze(1))).float()\n"
        "    inp.g = (inp.softmax(-1) - hot) / len(inp)\n",
        "inp.g",
        "or their indices",
        "Together",
    ),
    "a maximum adds nothing up": (
        "input_grad",
        "def input_grad(x, w, b, df):\n    return (w * df).max(1).values\n",
        "return",
        "all the terms but the largest one",
        "adds up or copies",
    ),
    "groups are no rows": (
        "groupnorm_grad",
        "def groupnorm_grad(inp, gamma, beta, out, groups):\n    bs = len(inp)\n"
        "    x = inp.reshape(bs, groups, -1)\n    centred = x - x.mean(-1, keepdim=True)\n"
        "    root = ((centred**2).mean(-1, keepdim=True) + 1e-5).sqrt()\n"
        "    g = (out.g * gamma[:, None]).reshape(x.shape)\n"
        "    inp.g = ((g - g.mean(-1, keepdim=True)) / root).reshape(inp.shape)\n",
        "inp.g",
        "normalized together",
        "row",
    ),
}


@pytest.mark.parametrize("case", FITTING_HINTS)
def test_hints_fit_what_the_file_does(case: str, grade: Grade) -> None:
    exercise, source, name, said, unsaid = FITTING_HINTS[case]
    result = grade(exercise, f"import torch\n{source}", seed=1)
    (answer,) = (answer for answer in result.answers if answer.name == name)
    hints = " ".join(answer.hints)
    assert said in hints
    assert unsaid not in hints


def slope_at_bound() -> float:
    """Return torch's derivative of a clamp at its upper bound: 1, or 0 from torch 2.14 on."""
    return float(torch.func.grad(lambda x: x.clamp(-1, 1))(torch.tensor(1.0)))


@pytest.mark.parametrize("seed", range(6))
def test_no_nudge_is_told_at_a_kink_at_which_it_does_not_give_the_right_gradient(grade: Grade, seed: int) -> None:
    """A nudge up at the upper bound of a clamp does not move the loss; from torch 2.14 on that is its gradient."""
    source = SUBMISSIONS["05_activations/clamp_grad: the gradient twice at a bound that is met exactly"].source
    (answer,) = grade("clamp_grad", source, seed=seed).answers
    told = re.search(r"the loss moves by (\S+), your gradient says (\S+)", answer.message + answer.evidence)
    if told is not None and (slope_at_bound() or float(told[1])):
        assert float(told[2]) == pytest.approx(2 * float(told[1]), rel=0.02)
