# gru_step_grad: r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid(), n = (xn + r * hn).tanh(), out = (1 - z) * n + z * h

# %% right: gate by gate, einsum
import torch


def gru_step_grad(x, h, w, u, b, out):
    m = h.shape[1]
    wr, wz, wn = w[:, :m], w[:, m : 2 * m], w[:, 2 * m :]
    ur, uz, un = u[:, :m], u[:, m : 2 * m], u[:, 2 * m :]
    r = torch.sigmoid(x @ wr + h @ ur + b[:m])
    z = torch.sigmoid(x @ wz + h @ uz + b[m : 2 * m])
    hn = h @ un
    n = torch.tanh(x @ wn + b[2 * m :] + r * hn)
    dn = out.g * (1 - z) * (1 - n * n)
    dz = out.g * (h - n) * z * (1 - z)
    dr = dn * hn * r * (1 - r)
    x.g = dr @ wr.T + dz @ wz.T + dn @ wn.T
    h.g = out.g * z + dr @ ur.T + dz @ uz.T + (dn * r) @ un.T
    w.g = torch.cat([torch.einsum("bn,bm->nm", x, d) for d in (dr, dz, dn)], 1)
    u.g = torch.cat([torch.einsum("bn,bm->nm", h, d) for d in (dr, dz, dn * r)], 1)
    b.g = torch.cat([d.sum(0) for d in (dr, dz, dn)])


# %% right: out solved for z, float64 inside
import torch


def gru_step_grad(x, h, w, u, b, out):
    X, H, W, U, B, G = (t.double() for t in (x, h, w, u, b, out.g))
    gx, gh = (X @ W + B).view(len(x), 3, -1), (H @ U).view(len(x), 3, -1)
    r, z = ((gx + gh)[:, :2]).sigmoid().unbind(1)
    n = (gx[:, 2] + r * gh[:, 2]).tanh()
    dn = (G - G * z) / torch.cosh(gx[:, 2] + r * gh[:, 2]) ** 2
    dx = torch.stack((dn * gh[:, 2] * (r - r * r), G * (H - n) * (z - z * z), dn), 1)
    dh = dx.clone()
    dh[:, 2] *= r
    dx, dh = dx.flatten(1), dh.flatten(1)
    x.g, w.g, b.g = (dx @ W.t()).float(), (X.t() @ dx).float(), dx.sum(0).float()
    h.g, u.g = (dh @ U.t() + G * z).float(), (H.t() @ dh).float()


# %% right: row by row
import torch


def gru_step_grad(x, h, w, u, b, out):
    for each in (x, h, w, u, b):
        each.g = torch.zeros_like(each)
    for e in range(x.size(0)):
        a, k = x[e] @ w + b, h[e] @ u
        m = len(k) // 3
        r, z = torch.sigmoid(a[:m] + k[:m]), torch.sigmoid(a[m:-m] + k[m:-m])
        n = torch.tanh(a[-m:] + r * k[-m:])
        g = out.g[e]
        n_g = g * (1 - z) * (1 - n) * (1 + n)
        left = torch.cat((n_g * k[-m:] * r * (1 - r), g * (h[e] - n) * z * (1 - z), n_g))
        right = torch.cat((left[: 2 * m], n_g * r))
        x.g[e], h.g[e] = w @ left, u @ right + g * z
        w.g += x[e, :, None] * left
        u.g += h[e, :, None] * right
        b.g += left


# %% wrong: the straight path through z * h left out | h.g: missing-path
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t()
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: h.g from the straight path alone | h.g: missing-path
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: n - h in place of h - n | *: wrong-sign
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (n - h) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: z and 1 - z exchanged | *: unknown or wrong-operand or wrong-local or wrong-point
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * z * (1 - n**2)
    z_g = out.g * (n - h) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * (1 - z)
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: reset gate left out on the side of h | h.g, u.g: missing-local
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: reset gate on the side of x as well | x.g, w.g, b.g: extra-factor or unknown
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g * r), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: reset gate's partner left out | *: missing-local
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: h in place of h @ u as the reset gate's partner | *: wrong-operand
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * h * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: xn in place of hn as the reset gate's partner | *: wrong-operand
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * xn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: tanh not differentiated | *: missing-local
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: tanh's slope taken at its input | *: wrong-point
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - (xn + r * hn) ** 2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: update gate's sigmoid not differentiated | *: missing-local
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: update gate hears h and not n | *: missing-path
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * h * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: b.g with the reset gate's factor | b.g: extra-factor or unknown or wrong-operand
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = h_side.sum(0)


# %% wrong: w.g and u.g averaged over the batch | w.g, u.g: mean-for-sum
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side / len(x)
    u.g = h.t() @ h_side / len(h)
    b.g = x_side.sum(0)


# %% wrong: b.g not summed over the batch | b.g: missing-batch-sum
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side


# %% wrong: upstream gradient missing | *: missing-upstream
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = (1 - z) * (1 - n**2)
    z_g = (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: 1 - z left out of the candidate's gradient | *: missing-local or wrong-operand
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)


# %% wrong: gate r on the side of x as well | x.g, w.g, b.g: extra-factor
import torch


def gru_step_grad(x, h, w, u, b, out):
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r = (xr + hr).sigmoid()
    z = (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    xs_g = torch.cat((r_g, z_g, n_g * r), -1)
    hs_g = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = xs_g @ w.t()
    w.g = x.t() @ xs_g
    b.g = xs_g.sum(0)
    h.g = hs_g @ u.t() + out.g * z
    u.g = h.t() @ hs_g
