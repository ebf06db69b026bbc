# causal_attention_grad: out = (q @ k.mT / sqrt(d)).masked_fill(later, -inf).softmax(-1) @ v

# %% right: each row with the rows up to it
import torch


def causal_attention_grad(q, k, v, out):
    for each in (q, k, v):
        each.g = torch.zeros_like(each)
    bs, t, d = q.shape
    for e in range(bs):
        for i in range(t):
            seen = slice(0, i + 1)
            p = (k[e, seen] @ q[e, i] / d**0.5).softmax(0)
            p_g = v[e, seen] @ out.g[e, i]
            s_g = p * (p_g - (p * p_g).sum()) / d**0.5
            q.g[e, i] = k[e, seen].t() @ s_g
            k.g[e, seen] += s_g[:, None] * q[e, i]
            v.g[e, seen] += p[:, None] * out.g[e, i]


# %% right: einsum, a large negative number for infinity
import torch


def causal_attention_grad(q, k, v, out):
    t, d = q.shape[1:]
    s = torch.einsum("bid,bjd->bij", q, k) / d**0.5
    p = (s + torch.full((t, t), -1e9).triu(1)).softmax(-1)
    g = torch.einsum("bie,bje->bij", out.g, v)
    ds = (p * g - p * (p * g).sum(-1, True)) / d**0.5
    q.g = torch.einsum("bij,bjd->bid", ds, k)
    k.g = torch.einsum("bij,bid->bjd", ds, q)
    v.g = torch.einsum("bij,bie->bje", p, out.g)


# %% right: lower triangle of exponentials, float64 inside
import torch


def causal_attention_grad(q, k, v, out):
    q64, k64, v64, g64 = (x.to(torch.float64) for x in (q, k, v, out.g))
    r = q.size(2) ** 0.5
    e = (q64 @ k64.transpose(-2, -1) / r).exp().tril()
    p = e / e.sum(2, keepdim=True)
    ds = p * (g64 @ v64.mT - (g64 * (p @ v64)).sum(2, keepdim=True)) / r
    q.g, k.g, v.g = ((ds @ k64).float(), (q64.mT @ ds).mT.float(), (p.mT @ g64).float())


# %% wrong: softmax's diagonal alone | q.g, k.g: diagonal-only
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (1 - weights) * weights_g / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: softmax not differentiated | q.g, k.g: missing-local
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights_g / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: the row's sum left out of softmax's gradient | q.g, k.g: missing-path or diagonal-only
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * weights_g / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: sqrt(d) only on the way forward | q.g, k.g: missing-local
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) 
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: divided by d in place of sqrt(d) on the way back | q.g, k.g: extra-factor or wrong-factor
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / q.shape[-1]
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: sqrt(d) left out of the weights | q.g, k.g: wrong-point; v.g: wrong-point or missing-local or wrong-operand
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: multiplied by sqrt(d) on the way back | q.g, k.g: wrong-local or wrong-factor
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) * root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: scores' gradient not turned for k | k.g: transposed
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g @ q
    v.g = weights.mT @ out.g


# %% wrong: weights not turned for v | v.g: transposed
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights @ out.g


# %% wrong: values' gradient with ones for weights | v.g: missing-local or unknown
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT.sign() @ out.g


# %% wrong: softmax's sum over the queries on the way back | q.g, k.g: summed-wrong-axis
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-2, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: plus in softmax's gradient | q.g, k.g: wrong-sign
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g + (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: ones in place of out.g | *: missing-upstream
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = torch.ones_like(out) @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ torch.ones_like(out)


# %% wrong: out in place of out.g | *: value-for-gradient
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out


# %% wrong: scores in place of weights for v | v.g: wrong-point or wrong-operand or missing-local
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = (q @ k.mT / root).mT @ out.g


# %% wrong: q and k exchanged as partners | q.g, k.g: wrong-operand
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ q
    k.g = scores_g.mT @ k
    v.g = weights.mT @ out.g


# %% wrong: mask forgotten | *: wrong-point or unknown or missing-local
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: mask on the gradient of the scores, not on the scores | *: wrong-point or unknown or missing-local
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    scores_g = scores_g.masked_fill(later, 0)
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: mask the other way round | *: not-finite or inverted-mask or wrong-point
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).tril(-1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: a row may not look at itself either | *: not-finite or wrong-point
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu().bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: a row may look one ahead | *: wrong-point
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(2).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: zeros for minus infinity | *: wrong-point or unknown
import torch


def causal_attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, 0).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: mask after the softmax | q.g, k.g, v.g: wrong-local
def causal_attention_grad(q, k, v, out):
    t, d = q.shape[1:]
    weights = (q @ k.mT / d**0.5).softmax(-1).tril()
    v.g = weights.mT @ out.g
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights * weights_g).sum(-1, keepdim=True)) / d**0.5
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
