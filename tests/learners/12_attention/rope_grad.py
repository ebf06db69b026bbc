# rope_grad: pairs (first, second) turned by angle = p / 10000 ** (i / c)

# %% right: complex numbers
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[-2]).unsqueeze(1) * 10000 ** (-torch.arange(c) / c)
    g = torch.complex(out.g[..., :c], out.g[..., c:]) * torch.polar(torch.ones_like(angle), -angle)
    inp.g = torch.cat((g.real, g.imag), -1)


# %% right: a matrix for each pair
import math
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    inp.g = torch.zeros_like(inp)
    for p in range(inp.shape[1]):
        for i in range(c):
            a = p / 10000 ** (i / c)
            turn = torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
            inp.g[:, p, [i, c + i]] = out.g[:, p, [i, c + i]] @ turn


# %% right: the same turn with the angle reversed, float64
import torch


def turned(x, sign):
    c = x.shape[-1] // 2
    angle = sign * torch.arange(x.shape[1], dtype=x.dtype)[:, None] / 10000 ** (torch.arange(c, dtype=x.dtype) / c)
    swapped = torch.cat((-x[..., c:], x[..., :c]), -1)
    return x * angle.cos().repeat(1, 2) + swapped * angle.sin().repeat(1, 2)


def rope_grad(inp, out):
    inp.g = turned(out.g.double(), -1).float()


# %% wrong: turned forward once more | inp.g: transposed or wrong-sign or wrong-local or unknown
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() - second_g * angle.sin(), second_g * angle.cos() + first_g * angle.sin()), -1
    )


# %% wrong: the cosine's part alone | inp.g: missing-path or diagonal-only
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos(), second_g * angle.cos()), -1
    )


# %% wrong: the sine's part alone | inp.g: missing-path
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (second_g * angle.sin(), -first_g * angle.sin()), -1
    )


# %% wrong: sign wrong in the first half | inp.g: wrong-sign
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() - second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )


# %% wrong: sign wrong in the second half | inp.g: wrong-sign
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() + first_g * angle.sin()), -1
    )


# %% wrong: not turned at all | inp.g: missing-local
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = out.g.clone()


# %% wrong: sine and cosine exchanged | inp.g: wrong-local or unknown or wrong-operand
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.sin() + second_g * angle.cos(), second_g * angle.sin() - first_g * angle.cos()), -1
    )


# %% wrong: places counted from 1 | inp.g: wrong-operand or hard-coded or unknown or wrong-point
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(1, inp.shape[1] + 1)[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )


# %% wrong: frequencies over 2c in place of c | inp.g: unknown or wrong-point
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / (2 * c))
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )


# %% wrong: pairs next to each other | inp.g: unknown or wrong-operand or reshape-for-transpose
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., ::2], out.g[..., 1::2]
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )


# %% wrong: base 100 in place of 10000 | inp.g: hard-coded or unknown or wrong-point
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 100 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )


# %% wrong: values turned in place of gradients | inp.g: value-for-gradient or forward-value
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out[..., :c], out[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )


# %% wrong: ones in place of out.g | inp.g: missing-upstream
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = torch.ones_like(out[..., :c]), torch.ones_like(out[..., c:])
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )


# %% wrong: halves exchanged | inp.g: unknown or transposed or wrong-operand
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (second_g * angle.cos() - first_g * angle.sin(), first_g * angle.cos() + second_g * angle.sin()), -1
    )


# %% wrong: divided by cos in place of multiplied | inp.g: unknown or wrong-local or inverse-for-transpose
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g / angle.cos() + second_g * angle.sin(), second_g / angle.cos() - first_g * angle.sin()), -1
    )


# %% wrong: the angle from the input, which has none at 0 | inp.g: wrong-local or not-finite
def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    x, y, u, v = inp[..., :c], inp[..., c:], out[..., :c], out[..., c:]
    square = x**2 + y**2
    cos, sin = (x * u + y * v) / square, (x * v - y * u) / square
    first, second = out.g[..., :c], out.g[..., c:]
    inp.g = inp.clone()
    inp.g[..., :c] = first * cos + second * sin
    inp.g[..., c:] = second * cos - first * sin


# %% wrong: the places counted from 1 | inp.g: wrong-point
import torch


def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(1, inp.shape[1] + 1)[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )
