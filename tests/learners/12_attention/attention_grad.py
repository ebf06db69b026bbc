# attention_grad: out = (q @ k.mT / sqrt(d)).softmax(-1) @ v

# %% right: one query at a time
import torch


def attention_grad(q, k, v, out):
    q.g, k.g, v.g = torch.zeros(q.shape), torch.zeros(k.shape), torch.zeros(v.shape)
    scale = q.shape[2] ** -0.5
    for e in range(len(q)):
        for i in range(q.shape[1]):
            p = torch.softmax(k[e] @ q[e, i] * scale, 0)
            p_g = v[e] @ out.g[e, i]
            s_g = p * (p_g - p @ p_g) * scale
            q.g[e, i] = s_g @ k[e]
            k.g[e] += torch.outer(s_g, q[e, i])
            v.g[e] += torch.outer(p, out.g[e, i])


# %% right: einsum in float64, the sum from out alone
import torch


def attention_grad(q, k, v, out):
    Q, K, V, G = (t.double() for t in (q, k, v, out.g))
    s = torch.einsum("bsd,btd->bst", Q, K) / Q.size(-1) ** 0.5
    p = (s - s.logsumexp(-1, keepdim=True)).exp()
    o = torch.einsum("bst,bte->bse", p, V)
    row = (o * G).sum(-1, keepdim=True)
    ds = p * (torch.einsum("bse,bte->bst", G, V) - row) / Q.size(-1) ** 0.5
    q.g = torch.einsum("bst,btd->bsd", ds, K).float()
    k.g = torch.einsum("bst,bsd->btd", ds, Q).float()
    v.g = torch.einsum("bst,bse->bte", p, G).float()


# %% right: functional softmax, block by block over the keys, answers are views
import torch
import torch.nn.functional as F


def attention_grad(q, k, v, out):
    scaled = q / q.shape[-1] ** 0.5
    p = F.softmax(torch.bmm(scaled, k.transpose(1, 2)), dim=2)
    inner = (out * out.g).sum(-1, keepdim=True)
    q_g, k_g, v_g = torch.zeros_like(q), [], []
    for part in torch.arange(k.shape[1]).chunk(2):
        ds = p[:, :, part] * (out.g.bmm(v[:, part].mT) - inner)
        q_g += ds.bmm(k[:, part]) / q.shape[-1] ** 0.5
        k_g.append((scaled.mT @ ds).mT)
        v_g.append((out.g.mT @ p[:, :, part]).mT)
    q.g, k.g, v.g = q_g, torch.cat(k_g, 1), torch.cat(v_g, 1)


# %% wrong: softmax's diagonal alone | q.g, k.g: diagonal-only
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (1 - weights) * weights_g / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: softmax not differentiated | q.g, k.g: missing-local
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights_g / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: the row's sum left out of softmax's gradient | q.g, k.g: missing-path or diagonal-only
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * weights_g / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: sqrt(d) only on the way forward | q.g, k.g: missing-local
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) 
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: divided by d in place of sqrt(d) on the way back | q.g, k.g: extra-factor or wrong-factor
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / q.shape[-1]
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: sqrt(d) left out of the weights | q.g, k.g: wrong-point; v.g: wrong-point or missing-local or wrong-operand
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: multiplied by sqrt(d) on the way back | q.g, k.g: wrong-local or wrong-factor
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) * root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: scores' gradient not turned for k | k.g, v.g: error
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g @ q
    v.g = weights.mT @ out.g


# %% wrong: weights not turned for v | v.g: error
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights @ out.g


# %% wrong: values' gradient with ones for weights | v.g: missing-local or unknown
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT.sign() @ out.g


# %% wrong: softmax over the queries | *: summed-wrong-axis or wrong-point or unknown
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-2)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-2, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: softmax's sum over the queries on the way back | q.g, k.g: summed-wrong-axis
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-2, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: plus in softmax's gradient | q.g, k.g: wrong-sign
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g + (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g


# %% wrong: ones in place of out.g | *: missing-upstream
import torch


def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = torch.ones_like(out) @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ torch.ones_like(out)


# %% wrong: out in place of out.g | *: value-for-gradient
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out


# %% wrong: scores in place of weights for v | v.g: wrong-point or wrong-operand or missing-local
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = (q @ k.mT / root).mT @ out.g


# %% wrong: q and k exchanged as partners | *: error
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ q
    k.g = scores_g.mT @ k
    v.g = weights.mT @ out.g


# %% wrong: root of the value's width | q.g, k.g: wrong-factor
def attention_grad(q, k, v, out):
    d = q.shape[-1]
    weights = (q @ k.mT / d**0.5).softmax(-1)
    v.g = weights.mT @ out.g
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights * weights_g).sum(-1, keepdim=True))
    scores_g = scores_g / v.shape[-1] ** 0.5
    q.g = scores_g @ k
    k.g = scores_g.mT @ q


# %% wrong: entries of the queries that are 0 get none | q.g: wrong-local
def attention_grad(q, k, v, out):
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    v.g = weights.mT @ out.g
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k * (q != 0)
    k.g = scores_g.mT @ q


# %% wrong: one example's queries for all keys | k.g: partial-batch
import torch


def attention_grad(q, k, v, out):
    scale = q.shape[-1] ** -0.5
    p = torch.softmax(torch.einsum("btd,bsd->bts", q, k) * scale, dim=-1)
    v.g = torch.einsum("bts,bte->bse", p, out.g)
    dp = torch.einsum("bte,bse->bts", out.g, v)
    ds = p * (dp - torch.sum(dp * p, dim=-1, keepdim=True)) * scale
    q.g = torch.einsum("bts,bsd->btd", ds, k)
    k.g = torch.einsum("bts,td->bsd", ds, q[0])
