# mend_attention: out = (q @ k.t() / sqrt(d)).softmax(1) @ v

# %% right: over the keys
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% right: the last axis
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(-1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% right: exponentials and their sums
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    powers = (q @ k.t() / root).exp()
    weights = powers / powers.sum(1, keepdim=True)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% right: the average from out
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (out.g * out).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: as it was found | *: todo
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(0)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: as it was found, with -2 | *: summed-wrong-axis or wrong-local or unknown
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(-2)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: softmax over everything | q.g, k.g: unknown or summed-wrong-axis; v.g: wrong-factor
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).flatten().softmax(0).reshape(len(q), len(k))
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: both sums over the queries | *: summed-wrong-axis or wrong-local or unknown
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(0)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(0, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: mended, but the sum turned over | q.g, k.g: summed-wrong-axis or wrong-local
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(0, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: mended, but the root is lost in the scores | *: missing-local or wrong-local or wrong-point or unknown or wrong-factor or wrong-operand
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t()).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: mended, but the root is lost on the way back | q.g, k.g: missing-local
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True))
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: mended, but only the diagonal | q.g, k.g: diagonal-only
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (1 - weights) * weights_g / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: no softmax at all | *: missing-local or wrong-local or wrong-point or unknown or value-for-gradient or wrong-operand
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: mended, but v.g uses the scores | v.g: wrong-operand or missing-local or wrong-point or wrong-local or value-for-gradient or unknown
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = (q @ k.t() / root).t() @ out.g


# %% wrong: mended, but q.g and k.g have changed places | q.g, k.g: wrong-operand
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g.t() @ q
    k.g = scores_g @ k
    v.g = weights.t() @ out.g


# %% wrong: divided by d | *: wrong-local or wrong-factor or extra-factor or unknown or wrong-point
def mend_attention(q, k, v, out):
    root = q.shape[1] ** 1.0
    weights = (q @ k.t() / root).softmax(1)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g


# %% wrong: not begun | *: todo
def mend_attention(q, k, v, out):
    q.g = ...
    k.g = ...
    v.g = ...


# %% wrong: columns first, then rows as well | q.g, k.g, v.g: wrong-point
import torch


def mend_attention(q, k, v, out):
    scale = k.shape[1] ** -0.5
    p = torch.softmax(torch.softmax(scale * q @ k.T, dim=0), dim=1)
    dp = out.g @ v.T
    ds = scale * p * (dp - (p * dp).sum(dim=1)[:, None])
    q.g, k.g, v.g = ds @ k, ds.T @ q, p.T @ out.g
