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
# base: pieces by a dictionary of kept states

#      w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
#+     every_piece = []

#          states = [kept[start]]
#+         every_piece.append(states)


# %% wrong: every piece begins with out.g | *: missing-local
# base: pieces by a dictionary of kept states

#      for start in sorted(kept, reverse=True):
#+         g = out.g


# %% wrong: w.g of the last step that is walked alone | w.g: overwritten
# base: pieces by a dictionary of kept states

#-             w.g += states[i].t() @ s
#+             w.g = states[i].t() @ s


# %% wrong: rows of b.g counted within the piece | b.g: overwritten
# base: pieces by a dictionary of kept states

#-             b.g[start + i] = s.sum(0)
#+             b.g[i] = s.sum(0)


# %% wrong: the square missing in tanh's slope | *: wrong-local
# base: pieces by a dictionary of kept states

#-             s = g * (1 - states[i + 1] ** 2)
#+             s = g * (1 - states[i + 1])


# %% wrong: the slope at the state before | *: wrong-point
# base: pieces by a dictionary of kept states

#-             s = g * (1 - states[i + 1] ** 2)
#+             s = g * (1 - states[i] ** 2)


# %% wrong: w meets the state after the step | w.g: wrong-operand
# base: pieces by a dictionary of kept states

#-             w.g += states[i].t() @ s
#+             w.g += states[i + 1].t() @ s


# %% wrong: w not transposed on the way back | *: transposed
# base: pieces by a dictionary of kept states

#-             g = s @ w.t()
#+             g = s @ w


# %% wrong: the mean over the batch in b.g | b.g: mean-for-sum
# base: pieces by a dictionary of kept states

#-             b.g[start + i] = s.sum(0)
#+             b.g[start + i] = s.mean(0)


# %% wrong: only the last piece is walked back | *: missing-path
# base: pieces by a dictionary of kept states

#-     for start in sorted(kept, reverse=True):
#+     for start in sorted(kept, reverse=True)[:1]:


# %% wrong: b forgotten where the states are made again | *: wrong-point
# base: pieces by a dictionary of kept states

#-             states.append((states[-1] @ w + row).tanh())
#+             states.append((states[-1] @ w).tanh())


# %% wrong: pieces from the first to the last | *: wrong-order
# base: pieces by a dictionary of kept states

#-     for start in sorted(kept, reverse=True):
#+     for start in sorted(kept):


# %% wrong: x.g without the first step | x.g: missing-local
# base: pieces by a dictionary of kept states

#+             last = g
#              g = s @ w.t()
#-     x.g = g
#+     x.g = s


# %% wrong: tanh's slope left out | *: missing-local
# base: pieces by a dictionary of kept states

#-             s = g * (1 - states[i + 1] ** 2)
#+             s = g


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


# %% wrong: whole pieces only | x.g, w.g, b.g: missing-path
import torch


def checkpoint_grad(x, w, b, out, every):
    t, size = len(b), min(every, len(b))
    states = {0: x}
    h = x
    for i in range(t):
        h = torch.tanh(h @ w + b[i])
        if (i + 1) % size == 0:
            states[i + 1] = h
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    g = out.g
    for end in range(t - t % size, 0, -size):
        inside = [states[end - size]]
        for i in range(end - size, end):
            inside.append(torch.tanh(inside[-1] @ w + b[i]))
        for i in range(end - 1, end - size - 1, -1):
            s = g * (1 - inside.pop() ** 2)
            w.g += inside[-1].T @ s
            b.g[i] = s.sum(0)
            g = s @ w.T
    x.g = g


# %% wrong: pieces from the first, states from the last | *: wrong-order
import torch


def checkpoint_grad(x, w, b, out, every):
    kept, h = [], x
    for i in range(len(b)):
        if i % every == 0:
            kept.append(h)
        h = torch.tanh(h @ w + b[i])
    g, w.g, b.g = out.g, torch.zeros_like(w), torch.zeros_like(b)
    for start in range(0, len(b), every):
        states = [kept.pop()]
        for row in b[start : start + every]:
            states.append(torch.tanh(states[-1] @ w + row))
        while len(states) > 1:
            sums_g = g * (1 - states.pop() ** 2)
            w.g += states[-1].t() @ sums_g
            b.g[start + len(states) - 1] = sums_g.sum(0)
            g = sums_g @ w.t()
    x.g = g
