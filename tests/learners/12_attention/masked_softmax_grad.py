# masked_softmax_grad: out = scores.masked_fill(~mask, -inf).softmax(-1)

# %% right: row by row, Jacobian and all
import torch


def masked_softmax_grad(scores, out, mask):
    scores.g = torch.zeros(scores.shape)
    for i, p in enumerate(out):
        scores.g[i] = (torch.diag(p) - torch.outer(p, p)) @ out.g[i]


# %% right: forward again in float64, einsum
import torch


def masked_softmax_grad(scores, out, mask):
    e = torch.where(mask, scores.double().exp(), 0.0)
    p = e / e.sum(-1, keepdim=True)
    g = out.g.double()
    scores.g = (p * g - torch.einsum("st,su,su->st", p, p, g)).float()


# %% right: only the free entries of each row
import torch


def masked_softmax_grad(scores, out, mask):
    g = torch.zeros_like(scores)
    for i in range(len(scores)):
        free = mask[i]
        p = torch.nn.functional.softmax(scores[i][free], 0)
        up = out.g[i][free]
        g[i, free] = p * (up - p @ up)
    scores.g = g


# %% right: mask applied once more, answer not contiguous
import torch


def masked_softmax_grad(scores, out, mask):
    up = out.g * mask
    inner = (up * out).sum(1)
    scores.g = torch.where(mask.T, out.T * (up.T - inner), torch.tensor(0.0)).T


# %% wrong: softmax's diagonal alone | scores.g: diagonal-only
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (1 - out) * out.g


# %% wrong: mask on the gradient, not on the scores | scores.g: wrong-point or unknown
def masked_softmax_grad(scores, out, mask):
    p = scores.softmax(-1)
    scores.g = mask * p * (out.g - (out.g * p).sum(-1, keepdim=True))


# %% wrong: mask forgotten altogether | scores.g: wrong-point or missing-local or unknown
def masked_softmax_grad(scores, out, mask):
    p = scores.softmax(-1)
    scores.g = p * (out.g - (out.g * p).sum(-1, keepdim=True))


# %% wrong: mask inverted | scores.g: inverted-mask
def masked_softmax_grad(scores, out, mask):
    p = scores.masked_fill(mask, -1e9).softmax(-1)
    scores.g = p * (out.g - (out.g * p).sum(-1, keepdim=True))


# %% wrong: masked scores set to 0 in place of minus infinity | scores.g: wrong-point or unknown or hard-coded
def masked_softmax_grad(scores, out, mask):
    p = (scores * mask).softmax(-1)
    scores.g = mask * p * (out.g - (out.g * p).sum(-1, keepdim=True))


# %% wrong: the sum over the row missing | scores.g: missing-path or diagonal-only
def masked_softmax_grad(scores, out, mask):
    scores.g = out * out.g


# %% wrong: sum of out.g without the weights | scores.g: wrong-local or missing-local
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (out.g - out.g.sum(-1, keepdim=True))


# %% wrong: sum over the queries | scores.g: summed-wrong-axis
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (out.g - (out.g * out).sum(0, keepdim=True))


# %% wrong: mean in place of the sum | scores.g: mean-for-sum
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (out.g - (out.g * out).mean(-1, keepdim=True))


# %% wrong: plus in place of minus | scores.g: wrong-sign
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (out.g + (out.g * out).sum(-1, keepdim=True))


# %% wrong: log-softmax's gradient | scores.g: wrong-local or unknown
def masked_softmax_grad(scores, out, mask):
    scores.g = (out.g - out * out.g.sum(-1, keepdim=True)) * mask


# %% wrong: out.g through the mask alone | scores.g: missing-local
def masked_softmax_grad(scores, out, mask):
    scores.g = out.g * mask


# %% wrong: upstream gradient missing: a column of the Jacobian's diagonal | scores.g: missing-upstream or diagonal-only or unknown
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (1 - out)


# %% wrong: scores in place of out | scores.g: wrong-point or wrong-operand or unknown
def masked_softmax_grad(scores, out, mask):
    scores.g = scores * (out.g - (out.g * scores).sum(-1, keepdim=True))


# %% wrong: value in place of the gradient: out * (out - sum) | scores.g: value-for-gradient
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (out - (out * out).sum(-1, keepdim=True))


# %% wrong: divided by the number of free entries | scores.g: unknown or wrong-factor or mean-for-sum
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (out.g - (out.g * out).sum(-1, keepdim=True)) / mask.sum(-1, keepdim=True)


# %% wrong: minus infinity in the answer | scores.g: not-finite
def masked_softmax_grad(scores, out, mask):
    scores.g = (out * (out.g - (out.g * out).sum(-1, keepdim=True))).masked_fill(~mask, float('-inf'))


# %% wrong: scores that are 0 are taken for masked ones | scores.g: wrong-local
def masked_softmax_grad(scores, out, mask):
    scores.g = out * (out.g - (out.g * out).sum(-1, keepdim=True)) * (scores != 0)


# %% wrong: a mean over the kept scores, not weighted | scores.g: missing-local
import torch


def masked_softmax_grad(scores, out, mask):
    kept = torch.where(mask.bool(), out.g, 0.0)
    scores.g = out * out.g - out * kept.sum(-1, keepdim=True) / mask.bool().sum(-1, keepdim=True)
