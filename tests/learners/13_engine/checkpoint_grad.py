# checkpoint_grad: h = x, then h = (h @ w + b[i]).tanh(), with few states held

# %% right: pieces by a dictionary of kept states
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% right: nothing kept, every state made from x again
import torch


def state(x, w, b, steps):
    for row in b[:steps]:
        x = torch.tanh(x @ w + row)
    return x


def checkpoint_grad(x, w, b, out, every):
    g, w.g, b.g = out.g, torch.zeros_like(w), torch.empty_like(b)
    after = out
    for i in range(len(b) - 1, -1, -1):
        before = state(x, w, b, i)
        g = g - g * after * after
        w.g.addmm_(before.t(), g)
        b.g[i] = g.sum(0)
        g = g @ w.t()
        after = before
    x.g = g


# %% right: halves of halves, by recursion
import torch


def checkpoint_grad(x, w, b, out, every):
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)

    def back(h, first, last, g):
        """From the state before step `first`, through the steps up to `last`."""
        if last - first == 1:
            s = g * (1 - torch.tanh(h @ w + b[first]) ** 2)
            w.g.add_(h.t() @ s)
            b.g[first] = s.sum(0)
            return s @ w.t()
        middle = (first + last) // 2
        h2 = h
        for i in range(first, middle):
            h2 = torch.tanh(h2 @ w + b[i])
        return back(h, first, middle, back(h2, middle, last, g))

    x.g = back(x, 0, len(b), out.g)


# %% wrong: all states held | *: memory
import torch


def checkpoint_grad(x, w, b, out, every):
    states = [x]
    for row in b:
        states.append((states[-1] @ w + row).tanh())
    g, w.g, b.g = out.g, torch.zeros_like(w), torch.zeros_like(b)
    for i in reversed(range(len(b))):
        s = g * (1 - states[i + 1] ** 2)
        w.g += states[i].t() @ s
        b.g[i] = s.sum(0)
        g = s @ w.t()
    x.g = g


# %% wrong: all states in one array | *: memory
import torch


def checkpoint_grad(x, w, b, out, every):
    states = torch.empty(len(b) + 1, *x.shape)
    states[0] = x
    for i, row in enumerate(b):
        states[i + 1] = (states[i] @ w + row).tanh()
    g, w.g, b.g = out.g, torch.zeros_like(w), torch.zeros_like(b)
    for i in reversed(range(len(b))):
        s = g * (1 - states[i + 1] ** 2)
        w.g += states[i].t() @ s
        b.g[i] = s.sum(0)
        g = s @ w.t()
    x.g = g


# %% wrong: pieces, but every piece is kept as well | *: memory
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    every_piece = []
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        every_piece.append(states)
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: every piece begins with out.g | *: missing-local
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        g = out.g
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: w.g of the last step that is walked alone | w.g: missing-path
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g = states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: rows of b.g counted within the piece | b.g: overwritten
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: the square missing in tanh's slope | *: wrong-local
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1])
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: the slope at the state before | *: wrong-point
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: w meets the state after the step | w.g: wrong-operand
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i + 1].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: w not transposed on the way back | *: transposed
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w
    x.g = g


# %% wrong: the mean over the batch in b.g | b.g: mean-for-sum
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.mean(0)
            g = s @ w.t()
    x.g = g


# %% wrong: only the last piece is walked back | *: missing-path
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True)[:1]:
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: b forgotten where the states are made again | *: wrong-point
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: pieces from the first to the last | *: wrong-order
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: x.g without the first step | x.g: missing-local
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g * (1 - states[i + 1] ** 2)
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            last = g
            g = s @ w.t()
    x.g = s


# %% wrong: tanh's slope left out | *: missing-local
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = {}, x
    for i, row in enumerate(b):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + row).tanh()
    g = out.g
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for start in sorted(kept, reverse=True):
        piece = b[start : start + every]
        states = [kept[start]]
        for row in piece:
            states.append((states[-1] @ w + row).tanh())
        for i in reversed(range(len(piece))):
            s = g
            w.g += states[i].t() @ s
            b.g[start + i] = s.sum(0)
            g = s @ w.t()
    x.g = g


# %% wrong: a shorter last piece left out | *: missing-path
import torch


def checkpoint_grad(x, w, b, out, every):
    t = len(b)
    kept, h = [], x
    for i in range(t):
        if i % every == 0:
            kept.append(h)
        h = torch.tanh(h @ w + b[i])
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    g = out.g
    for k in range(t // every - 1, -1, -1):
        first, last = k * every, min((k + 1) * every, t)
        states = [kept[k]]
        for i in range(first, last):
            states.append(torch.tanh(states[-1] @ w + b[i]))
        for i in range(last - 1, first - 1, -1):
            s = g * (1 - states[i - first + 1] ** 2)
            w.g += states[i - first].T @ s
            b.g[i] += s.sum(0)
            g = s @ w.T
    x.g = g


# %% wrong: w.g set anew in each piece | w.g: overwritten
import torch


def checkpoint_grad(x, w, b, out, every):
    t = len(b)
    kept, h = [], x
    for i in range(t):
        if i % every == 0:
            kept.append(h)
        h = torch.tanh(h @ w + b[i])
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    g = out.g
    for k in range(len(kept) - 1, -1, -1):
        first, last = k * every, min((k + 1) * every, t)
        states = [kept[k]]
        w.g = torch.zeros_like(w)
        for i in range(first, last):
            states.append(torch.tanh(states[-1] @ w + b[i]))
        for i in range(last - 1, first - 1, -1):
            s = g * (1 - states[i - first + 1] ** 2)
            w.g += states[i - first].T @ s
            b.g[i] += s.sum(0)
            g = s @ w.T
    x.g = g
