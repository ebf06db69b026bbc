# smallest_failing_input: the least sizes at which a backward pass of out = inp.mean(1) is wrong

# %% right: two loops, and the least of all that fail
import torch


def smallest_failing_input(bug):
    failing = []
    for bs in range(1, 7):
        for n in range(1, 7):
            inp = torch.randn(bs, n)
            out = inp.mean(1)
            out.g = torch.randn(bs)
            bug(inp, out)
            right = torch.zeros(bs, n) + out.g[:, None] / n
            if inp.g.shape != right.shape or (inp.g - right).abs().max() > 1e-5:
                failing.append((bs * n, bs, n))
    return min(failing)[1:]


# %% right: by the number of entries, then its divisors; nudges say what is right
import torch


def smallest_failing_input(bug):
    torch.manual_seed(1)
    for entries in range(1, 37):
        for bs in range(1, 7):
            n, rest = divmod(entries, bs)
            if rest or not 1 <= n <= 6:
                continue
            inp = torch.randn(bs, n, dtype=torch.float64)
            out = inp.mean(1)
            out.g = torch.randn(bs, dtype=torch.float64)
            g = out.g.clone()
            bug(inp, out)
            for i in range(bs):
                for j in range(n):
                    up, down = inp.clone(), inp.clone()
                    up[i, j] += 1e-5
                    down[i, j] -= 1e-5
                    slope = ((up.mean(1) - down.mean(1)) * g).sum() / 2e-5
                    if abs(slope - inp.g[i, j]) > 1e-6:
                        return bs, n


# %% right: a list of two tensors comes back
import torch


def smallest_failing_input(bug):
    def fails(bs, n):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.randn(bs) + 3
        bug(inp, out)
        return not torch.allclose(inp.g, (out.g / n).repeat(n, 1).t(), atol=1e-5)

    sizes = sorted(((bs, n) for bs in range(1, 7) for n in range(1, 7)), key=lambda s: (s[0] * s[1], s[0]))
    bs, n = next(size for size in sizes if fails(*size))
    return [torch.tensor(float(bs)), torch.tensor(float(n))]


# %% right: numpy
import numpy as np
import torch


def smallest_failing_input(bug):
    rng = np.random.default_rng(0)
    best = None
    for bs, n in np.ndindex(6, 6):
        bs, n = bs + 1, n + 1
        inp = torch.tensor(rng.normal(size=(bs, n)))
        out = inp.mean(1)
        out.g = torch.tensor(rng.normal(size=bs))
        bug(inp, out)
        wrong = not np.allclose(inp.g.numpy(), out.g.numpy()[:, None] / n * np.ones((1, n)))
        if wrong and (best is None or (bs * n, bs) < (best[0] * best[1], best[0])):
            best = bs, n
    return best


# %% wrong: rows in the outer loop, the first that fails | return.0, return.1: wrong-operand
import torch


def smallest_failing_input(bug):
    for bs in range(1, 7):
        for n in range(1, 7):
            inp = torch.randn(bs, n)
            out = inp.mean(1)
            out.g = torch.randn(bs)
            bug(inp, out)
            if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
                return bs, n


# %% wrong: columns in the outer loop, the first that fails | return.0, return.1: wrong-operand
import torch


def smallest_failing_input(bug):
    for n in range(1, 7):
        for bs in range(1, 7):
            inp = torch.randn(bs, n)
            out = inp.mean(1)
            out.g = torch.randn(bs)
            bug(inp, out)
            if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
                return bs, n


# %% wrong: n and bs are returned | return.0, return.1: wrong-operand
import torch


def smallest_failing_input(bug):
    sizes = [(bs, n) for bs in range(1, 7) for n in range(1, 7)]
    for bs, n in sorted(sizes, key=lambda size: (size[0] * size[1], size[0])):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.randn(bs)
        bug(inp, out)
        if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
            return n, bs


# %% wrong: squares only | return.0, return.1: shape-special
import torch


def smallest_failing_input(bug):
    for size in range(1, 7):
        inp = torch.randn(size, size)
        out = inp.mean(1)
        out.g = torch.randn(size)
        bug(inp, out)
        if not torch.allclose(inp.g, out.g[:, None].expand(size, size) / size, atol=1e-5):
            return size, size


# %% wrong: from 2 on | return.0, return.1: shape-special
import torch


def smallest_failing_input(bug):
    sizes = [(bs, n) for bs in range(2, 7) for n in range(2, 7)]
    for bs, n in sorted(sizes, key=lambda size: (size[0] * size[1], size[0])):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.randn(bs)
        bug(inp, out)
        if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
            return bs, n


# %% wrong: an upstream gradient of ones | return.0, return.1: missing-upstream
import torch


def smallest_failing_input(bug):
    sizes = [(bs, n) for bs in range(1, 7) for n in range(1, 7)]
    for bs, n in sorted(sizes, key=lambda size: (size[0] * size[1], size[0])):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.ones(bs)
        bug(inp, out)
        if not torch.allclose(inp.g, torch.full((bs, n), 1 / n), atol=1e-5):
            return bs, n
    return 6, 6


# %% wrong: of equals the one with fewer columns | return.0, return.1: wrong-operand
import torch


def smallest_failing_input(bug):
    sizes = [(bs, n) for bs in range(1, 7) for n in range(1, 7)]
    for bs, n in sorted(sizes, key=lambda size: (size[0] * size[1], size[1])):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.randn(bs)
        bug(inp, out)
        if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
            return bs, n


# %% wrong: ordered by the sum of the sizes | return.0, return.1: wrong-operand
import torch


def smallest_failing_input(bug):
    sizes = [(bs, n) for bs in range(1, 7) for n in range(1, 7)]
    for bs, n in sorted(sizes, key=lambda size: (size[0] + size[1], size[0])):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.randn(bs)
        bug(inp, out)
        if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
            return bs, n


# %% wrong: the number of entries comes back | *: wrong-type
import torch


def smallest_failing_input(bug):
    for bs in range(1, 7):
        for n in range(1, 7):
            inp = torch.randn(bs, n)
            out = inp.mean(1)
            out.g = torch.randn(bs)
            bug(inp, out)
            if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
                return bs * n


# %% wrong: always one row and two columns | return.0, return.1: hard-coded
def smallest_failing_input(bug):
    return 1, 2


# %% wrong: the largest sizes that fail | return.0, return.1: hard-coded or wrong-operand or unknown
import torch


def smallest_failing_input(bug):
    failing = []
    for bs in range(1, 7):
        for n in range(1, 7):
            inp = torch.randn(bs, n)
            out = inp.mean(1)
            out.g = torch.randn(bs)
            bug(inp, out)
            if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
                failing.append((bs * n, bs, n))
    return max(failing)[1:]


# %% wrong: nothing comes back, for it is printed | *: missing-answer
import torch


def smallest_failing_input(bug):
    sizes = [(bs, n) for bs in range(1, 7) for n in range(1, 7)]
    for bs, n in sorted(sizes, key=lambda size: (size[0] * size[1], size[0])):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.randn(bs)
        bug(inp, out)
        if not torch.allclose(inp.g, out.g[:, None].expand(bs, n) / n, atol=1e-5):
            print(bs, n)
            break


# %% wrong: the bug is called without an upstream gradient | *: error
import torch


def smallest_failing_input(bug):
    for bs in range(1, 7):
        for n in range(1, 7):
            inp = torch.randn(bs, n)
            bug(inp, inp.mean(1))
            if not torch.allclose(inp.g, torch.full((bs, n), 1 / n)):
                return bs, n


# %% wrong: not begun | *: todo
def smallest_failing_input(bug):
    return ...
