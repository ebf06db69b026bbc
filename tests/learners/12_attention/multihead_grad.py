# multihead_grad: q, k, v = (x @ wqkv).chunk(3, -1), heads parted, out = heads side by side @ wo

# %% right: one head at a time
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    d = wo.shape[0]
    c = d // heads
    X, G = x.flatten(0, 1), out.g.flatten(0, 1)
    x.g, wqkv.g, wo.g = torch.zeros_like(x), torch.zeros_like(wqkv), torch.zeros_like(wo)
    for h in range(heads):
        cols = [slice(j * d + h * c, j * d + (h + 1) * c) for j in range(3)]
        rows = slice(h * c, (h + 1) * c)
        q, k, v = (x @ wqkv[:, part] for part in cols)
        p = (q @ k.mT / c**0.5).softmax(-1)
        o = p @ v
        wo.g[rows] = o.flatten(0, 1).t() @ G
        o_g = out.g @ wo[rows].t()
        p_g = o_g @ v.mT
        s_g = p * (p_g - (p * p_g).sum(-1, keepdim=True)) / c**0.5
        for part, g in zip(cols, (s_g @ k, s_g.mT @ q, p.mT @ o_g)):
            wqkv.g[:, part] = X.t() @ g.flatten(0, 1)
            x.g += g @ wqkv[:, part].t()


# %% right: einsum with the heads as an axis
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    w = wqkv.reshape(x.shape[2], 3, heads, -1)
    o = wo.reshape(heads, -1, wo.shape[1])
    q, k, v = torch.einsum("btn,njhc->jbhtc", x, w)
    r = q.shape[-1] ** -0.5
    p = (torch.einsum("bhsc,bhtc->bhst", q, k) * r).softmax(-1)
    y = torch.einsum("bhst,bhtc->bhsc", p, v)
    wo.g = torch.einsum("bhsc,bsm->hcm", y, out.g).reshape(wo.shape)
    y_g = torch.einsum("bsm,hcm->bhsc", out.g, o)
    p_g = torch.einsum("bhsc,bhtc->bhst", y_g, v)
    s_g = p * (p_g - (y_g * y).sum(-1, keepdim=True)) * r
    g = torch.stack(
        (torch.einsum("bhst,bhtc->bhsc", s_g, k), torch.einsum("bhst,bhsc->bhtc", s_g, q), p.mT @ y_g)
    )
    wqkv.g = torch.einsum("btn,jbhtc->njhc", x, g).reshape(wqkv.shape)
    x.g = torch.einsum("jbhtc,njhc->btn", g, w)


# %% right: functional attention forward, float64
import torch
import torch.nn.functional as F


def multihead_grad(x, wqkv, wo, out, heads):
    X, W, O, G = (t.double() for t in (x, wqkv, wo, out.g))
    bs, t, _ = X.shape

    def part(z):
        return z.view(bs, t, heads, -1).transpose(1, 2)

    def join(z):
        return z.transpose(1, 2).flatten(2)

    q, k, v = map(part, (X @ W).tensor_split(3, -1))
    y = F.scaled_dot_product_attention(q, k, v)
    wo.g = (join(y).flatten(0, 1).mT @ G.flatten(0, 1)).float()
    y_g = part(G @ O.mT)
    p = F.softmax(q @ k.mT / q.size(-1) ** 0.5, -1)
    s_g = p * (y_g @ v.mT - (y_g * y).sum(-1, keepdim=True)) / q.size(-1) ** 0.5
    g = torch.cat((join(s_g @ k), join(s_g.mT @ q), join(p.mT @ y_g)), -1)
    wqkv.g = (X.flatten(0, 1).mT @ g.flatten(0, 1)).float()
    x.g = (g @ W.mT).float()


# %% wrong: heads mixed by a reshape on the way back | x.g, wqkv.g: reshape-for-transpose or unknown
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: heads mixed by a reshape in front of wo | wo.g: reshape-for-transpose or unknown
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: heads parted by a reshape on the way back | x.g, wqkv.g: reshape-for-transpose or unknown
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, heads, t, -1)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: one head in place of several | *: wrong-point or unknown or hard-coded
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    heads = 1
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: sqrt of all columns in place of one head's | *: wrong-point or unknown or wrong-factor
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = wo.shape[0] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: sqrt only on the way forward | x.g, wqkv.g: missing-local
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True))
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: softmax's diagonal alone | x.g, wqkv.g: diagonal-only
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (1 - weights) * weights_g / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: softmax not differentiated | x.g, wqkv.g: missing-local
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights_g / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: q and k exchanged in the joined gradient | x.g, wqkv.g: wrong-operand or unknown or transposed
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g.mT @ q, scores_g @ k, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: scores' gradient not turned for k | x.g, wqkv.g: transposed
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: weights not turned for v | x.g, wqkv.g: transposed
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: x.g from the queries alone | x.g: missing-path
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g[..., : wo.shape[0]] @ wqkv[:, : wo.shape[0]].t()


# %% wrong: x.g without the values' path | x.g: missing-path
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g[..., : -wo.shape[0]] @ wqkv[:, : -wo.shape[0]].t()


# %% wrong: wo's gradient for the batch's first example only | wo.g: partial-batch
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined[0].t() @ out.g[0]
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: wo.g averaged over the batch | wo.g: mean-for-sum
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1) / bs
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: wqkv.g keeps the batch | wqkv.g: missing-batch-sum
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.mT @ qkv_g
    x.g = qkv_g @ wqkv.t()


# %% wrong: out in place of out.g behind wo | x.g, wqkv.g: unknown or wrong-operand or value-for-gradient
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (joined @ wo @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: ones in place of out.g | *: missing-upstream
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ torch.ones_like(out).flatten(0, 1)
    mixed_g = (torch.ones_like(out) @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()


# %% wrong: root of the full width | x.g, wqkv.g, wo.g: wrong-factor
import math
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, n = x.shape
    w = wqkv.view(n, 3, heads, -1)
    c = w.shape[-1]
    q, k, v = torch.einsum("btn,nzhc->zbhtc", x, w)
    p = torch.einsum("bhsc,bhtc->bhst", q, k).div(math.sqrt(heads * c)).softmax(-1)
    o = torch.einsum("bhst,bhtc->bshc", p, v)
    wo.g = torch.einsum("bshc,bsm->hcm", o, out.g).flatten(0, 1)
    o_g = torch.einsum("bsm,hcm->bshc", out.g, wo.view(heads, c, -1))
    p_g = torch.einsum("bshc,bhtc->bhst", o_g, v)
    s_g = p * (p_g - (o * o_g).sum(-1).transpose(1, 2)[..., None]) / math.sqrt(heads * c)
    q_g = torch.einsum("bhst,bhtc->bshc", s_g, k)
    k_g = torch.einsum("bhst,bhsc->bthc", s_g, q)
    v_g = torch.einsum("bhst,bshc->bthc", p, o_g)
    g = torch.stack((q_g, k_g, v_g), 2).flatten(2)
    wqkv.g = torch.einsum("btn,btj->nj", x, g)
    x.g = torch.einsum("btj,nj->btn", g, wqkv)


# %% wrong: columns read as c columns of h heads | x.g, wqkv.g, wo.g: reshape-for-transpose
import torch


def multihead_grad(x, wqkv, wo, out, heads):
    bs, t, n = x.shape
    c = wo.shape[0] // heads

    def part_heads(z):
        return z.reshape(bs, t, c, heads).permute(0, 3, 1, 2)

    def join(z):
        return z.permute(0, 2, 3, 1).reshape(bs, t, c * heads)

    q, k, v = map(part_heads, (x @ wqkv).chunk(3, -1))
    p = (q @ k.mT / c**0.5).softmax(-1)
    wo.g = torch.einsum("bti,btm->im", join(p @ v), out.g)
    g = part_heads(out.g @ wo.t())
    p_g = g @ v.mT
    s_g = p * (p_g - (p * p_g).sum(-1, keepdim=True)) / c**0.5
    qkv_g = torch.cat([join(s_g @ k), join(s_g.mT @ q), join(p.mT @ g)], -1)
    wqkv.g = torch.einsum("btn,btj->nj", x, qkv_g)
    x.g = qkv_g @ wqkv.t()
