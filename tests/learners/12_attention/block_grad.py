# block_grad: n = norm(x), h = x + causal(n @ wq, n @ wk, n @ wv) @ wo, out = h + relu(norm(h) @ w1) @ w2

# %% right: einsum, norm's gradient step by step
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):
    es = torch.einsum

    def norm(z):
        c = z - z.mean(-1, keepdim=True)
        sd = (c.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
        return c, sd

    def norm_back(g, c, sd):
        d = c.shape[-1]
        sd_g = -(g * c).sum(-1, keepdim=True) / sd**2
        c_g = g / sd + c * sd_g / (sd * d)
        return c_g - c_g.mean(-1, keepdim=True)

    c1, s1 = norm(x)
    n = c1 / s1
    q, k, v = n @ wq, n @ wk, n @ wv
    e = (es("bid,bjd->bij", q, k) / wq.shape[1] ** 0.5).exp().tril()
    p = e / e.sum(-1, keepdim=True)
    y = p @ v
    h = x + y @ wo
    c2, s2 = norm(h)
    z = (c2 / s2) @ w1
    r = z.clamp_min(0)
    w2.g = es("btm,btd->md", r, out.g)
    z_g = es("btd,md->btm", out.g, w2) * (z > 0)
    w1.g = es("btd,btm->dm", c2 / s2, z_g)
    h_g = out.g + norm_back(z_g @ w1.T, c2, s2)
    wo.g = es("bte,btd->ed", y, h_g)
    y_g = h_g @ wo.T
    p_g = y_g @ v.mT
    s_g = p * (p_g - (p * p_g).sum(-1, keepdim=True)) / wq.shape[1] ** 0.5
    grads = s_g @ k, s_g.mT @ q, p.mT @ y_g
    wq.g, wk.g, wv.g = (es("btd,btc->dc", n, g) for g in grads)
    n_g = sum(g @ w.T for g, w in zip(grads, (wq, wk, wv)))
    x.g = h_g + norm_back(n_g, c1, s1)


# %% right: functional forward, float64
import torch
import torch.nn.functional as F


def block_grad(x, wq, wk, wv, wo, w1, w2, out):
    X, Q, K, V, O, A, B, G = (t.double() for t in (x, wq, wk, wv, wo, w1, w2, out.g))
    size = X.shape[-1:]

    def back(g, z):
        sd = (z.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        hat = F.layer_norm(z, size)
        return (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / sd

    n = F.layer_norm(X, size)
    q, k, v = n @ Q, n @ K, n @ V
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    t = X.shape[1]
    p = ((q @ k.mT) / Q.shape[1] ** 0.5).masked_fill(~torch.ones(t, t, dtype=bool).tril(), -torch.inf).softmax(-1)
    h = X + y @ O
    m = F.layer_norm(h, size)
    r = F.relu(m @ A)
    up = (G @ B.T) * (r > 0)
    h_g = G + back(up @ A.T, h)
    y_g = h_g @ O.T
    s_g = p * (y_g @ v.mT - (y_g * y).sum(-1, keepdim=True)) / Q.shape[1] ** 0.5
    q_g, k_g, v_g = s_g @ k, s_g.mT @ q, p.mT @ y_g

    def rows(a, b):
        return (a.mT @ b).sum(0).float()

    w2.g, w1.g, wo.g = rows(r, G), rows(m, up), rows(y, h_g)
    wq.g, wk.g, wv.g = rows(n, q_g), rows(n, k_g), rows(n, v_g)
    x.g = (h_g + back(q_g @ Q.T + k_g @ K.T + v_g @ V.T, X)).float()


# %% right: example by example
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):
    for each in (x, wq, wk, wv, wo, w1, w2):
        each.g = torch.zeros_like(each)
    root = wq.shape[1] ** 0.5

    def norm(z):
        return (z - z.mean(1, keepdim=True)) / (z.var(1, correction=0, keepdim=True) + 1e-5).sqrt()

    def norm_back(g, z):
        hat = norm(z)
        inner = g - g.mean(1, keepdim=True) - hat * (g * hat).mean(1, keepdim=True)
        return inner / (z.var(1, correction=0, keepdim=True) + 1e-5).sqrt()

    for e, (z, g) in enumerate(zip(x, out.g)):
        n = norm(z)
        q, k, v = n @ wq, n @ wk, n @ wv
        a = (q @ k.t() / root).exp().tril()
        a = a / a.sum(1, keepdim=True)
        y = a @ v
        h = z + y @ wo
        r = norm(h) @ w1
        w2.g += r.relu().t() @ g
        r_g = (g @ w2.t()) * (r > 0)
        w1.g += norm(h).t() @ r_g
        h_g = g + norm_back(r_g @ w1.t(), h)
        wo.g += y.t() @ h_g
        y_g = h_g @ wo.t()
        a_g = y_g @ v.t()
        s_g = (a * a_g - a * (a * a_g).sum(1, keepdim=True)) / root
        wq.g += n.t() @ (s_g @ k)
        wk.g += n.t() @ (s_g.t() @ q)
        wv.g += n.t() @ (a.t() @ y_g)
        x.g[e] = h_g + norm_back(s_g @ k @ wq.t() + s_g.t() @ q @ wk.t() + a.t() @ y_g @ wv.t(), z)


# %% wrong: short path round the feed-forward part left out | x.g, wq.g, wk.g, wv.g, wo.g: missing-path
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: short path round the attention left out | x.g: missing-path
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: only the short path from h to x | x.g: missing-path
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g


# %% wrong: path through the norm of h left out | x.g, wq.g, wk.g, wv.g, wo.g: missing-path
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: path through the values left out of x.g | x.g: missing-path
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t(), n, n_inv)


# %% wrong: path through the keys left out of x.g | x.g: missing-path
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: relu's mask left out | x.g, wq.g, wk.g, wv.g, wo.g, w1.g: missing-local
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = out.g @ w2.t()
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: mean's path left out of the norms | x.g, wq.g, wk.g, wv.g, wo.g: missing-path or unknown or wrong-local
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: variance's path left out of the norms | x.g, wq.g, wk.g, wv.g, wo.g: missing-path or unknown or missing-local
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: norms not differentiated | x.g, wq.g, wk.g, wv.g, wo.g: missing-local or unknown
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return g

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: sqrt only on the way forward | x.g, wq.g, wk.g: missing-local
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True))
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: softmax's diagonal alone | x.g: diagonal-only or unknown; wq.g, wk.g: diagonal-only or unknown
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (1 - weights) * weights_g / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: mask forgotten | *: wrong-point or unknown or missing-local
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: x in place of norm(x) as the partner of wq | wq.g: wrong-point or wrong-operand
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(x, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: h in place of norm(h) as the partner of w1 | w1.g: wrong-point or wrong-operand
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(x + mixed @ wo, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: scores' gradient not turned for k | x.g, wk.g: transposed
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: sums in place of what relu gave as the partner of w2 | w2.g: wrong-point or wrong-operand or missing-local
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(h_hat @ w1, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: out.g in place of the gradient of h for wo | wo.g: missing-path
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, out.g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: weight gradients averaged over the batch | wq.g, wk.g, wv.g, wo.g, w1.g, w2.g: mean-for-sum
import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1) / len(rows)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)


# %% wrong: second norm skipped on the way back | x.g, wq.g, wk.g, wv.g, wo.g: missing-local
import torch


def norm(z):
    centred = z - z.mean(-1, keepdim=True)
    inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
    return centred * inv, inv


def norm_g(g, hat, inv):
    return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))


def weight_g(rows, g):
    return rows.flatten(0, 1).t() @ g.flatten(0, 1)


def block_grad(x, wq, wk, wv, wo, w1, w2, out):
    t, c = x.shape[1], wq.shape[1]
    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    later = torch.ones(t, t).triu(1).bool()
    p = (q @ k.mT / c**0.5).masked_fill(later, float("-inf")).softmax(-1)
    a = p @ v
    h = x + a @ wo
    m, m_inv = norm(h)
    hidden = m @ w1
    act = hidden.clamp(min=0)

    w2.g = weight_g(act, out.g)
    hidden_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(m, hidden_g)
    h_g = out.g + hidden_g @ w1.t()

    wo.g = weight_g(a, h_g)
    a_g = h_g @ wo.t()
    v_g = p.mT @ a_g
    p_g = a_g @ v.mT
    s_g = p * (p_g - (p * p_g).sum(-1, keepdim=True)) / c**0.5
    q_g = s_g @ k
    k_g = s_g.mT @ q
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    n_g = q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t()
    x.g = h_g + norm_g(n_g, n, n_inv)


# %% wrong: attention's half fed with the block's upstream | x.g, wq.g, wk.g, wv.g, wo.g: missing-path
import torch


def norm(z):
    centred = z - z.mean(-1, keepdim=True)
    inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
    return centred * inv, inv


def norm_g(g, hat, inv):
    return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))


def weight_g(rows, g):
    return rows.flatten(0, 1).t() @ g.flatten(0, 1)


def block_grad(x, wq, wk, wv, wo, w1, w2, out):
    t, c = x.shape[1], wq.shape[1]
    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    later = torch.ones(t, t).triu(1).bool()
    p = (q @ k.mT / c**0.5).masked_fill(later, float("-inf")).softmax(-1)
    a = p @ v
    h = x + a @ wo
    m, m_inv = norm(h)
    hidden = m @ w1
    act = hidden.clamp(min=0)

    w2.g = weight_g(act, out.g)
    hidden_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(m, hidden_g)
    h_g = out.g + norm_g(hidden_g @ w1.t(), m, m_inv)

    wo.g = weight_g(a, out.g)
    a_g = out.g @ wo.t()
    v_g = p.mT @ a_g
    p_g = a_g @ v.mT
    s_g = p * (p_g - (p * p_g).sum(-1, keepdim=True)) / c**0.5
    q_g = s_g @ k
    k_g = s_g.mT @ q
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    n_g = q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t()
    x.g = h_g + norm_g(n_g, n, n_inv)
