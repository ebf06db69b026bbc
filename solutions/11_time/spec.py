"""Exercises of unit 11: one weight, many time steps."""

from functools import partial

from handgrad import Exercise, Misconception, Routine, Sampler, normal, output, stored, weights


def _states(x, h, wx, wh, b):
    """Return the state h = (x[:, i] @ wx + h @ wh + b).tanh() of every time step i; shape of each: (bs, m)."""
    states = []
    for i in range(x.shape[1]):
        h = (x[:, i] @ wx + h @ wh + b).tanh()
        states.append(h)
    return states


def _all_states(x, h0, wx, wh, b):
    """out[:, i] = (x[:, i] @ wx + out[:, i-1] @ wh + b).tanh(), with h0 in place of out[:, i-1] where i is 0"""
    import torch

    states = _states(x, h0, wx, wh, b)
    return torch.stack(states, 1)


def _last_state_truncated(x, h0, wx, wh, b, k):
    """out is the last state; the state that the last k time steps start from is treated as a constant"""
    states = [h0, *_states(x[:, :-k], h0, wx, wh, b)]
    start = states[-1].detach()
    return _states(x[:, -k:], start, wx, wh, b)[-1]


def _through_first_steps(name, x, h0, wx, wh, b, k, out_g):
    """Return the gradient of an input by a backward pass through the first k time steps, not the last k."""
    import torch

    steps = min(int(k), x.shape[1])
    states = [h0, *_states(x[:, :steps], h0, wx, wh, b)]
    grads = {each: torch.zeros_like(value) for each, value in {"x": x, "wx": wx, "wh": wh, "b": b}.items()}
    g = out_g
    for i in reversed(range(steps)):
        sums_g = (1 - states[i + 1] ** 2) * g
        grads["x"][:, i] = sums_g @ wx.t()
        grads["wx"] += x[:, i].t() @ sums_g
        grads["wh"] += states[i].t() @ sums_g
        grads["b"] += sums_g.sum(0)
        g = sums_g @ wh.t()
    return grads[name]


def _lstm_step(x, h, c, w, b):
    """i, f, g, o = [x h] @ w + b, new_c = sigmoid(f) * c + sigmoid(i) * tanh(g), new_h = sigmoid(o) * tanh(new_c)"""
    import torch

    i, f, g, o = (torch.cat((x, h), -1) @ w + b).chunk(4, -1)
    new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    new_h = o.sigmoid() * new_c.tanh()
    return torch.stack((new_h, new_c))


def _gru_step(x, h, w, u, b):
    """r, z, n from x @ w + b and h @ u, out = (1 - z) * n + z * h"""
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r = (xr + hr).sigmoid()
    z = (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return (1 - z) * n + z * h


def _reach(rng, setting, _shape):
    """Return through how many time steps a gradient may flow: fewer than there are, then as many, then more."""
    moments = setting.sizes["t"]
    fewer = int(rng.integers(2, moments)) if moments > 2 else moments
    return (fewer, moments, moments + 1, moments + 3)[setting.turn % 4]


def _limit(rng, setting, _shape):
    """Return a limit that the norm exceeds in one trial and not in the next."""
    low, high = ((0.25, 2), (400, 800))[setting.turn % 2]
    return float(rng.uniform(low, high, ()).astype("float32"))


def _norm(grads):
    """Return the norm of all entries of all arrays together."""
    return sum((grad**2).sum() for grad in grads) ** 0.5


def _clipped(grads, limit):
    """Return every array times limit / norm where the norm exceeds the limit, and unchanged otherwise."""
    scale = min(1.0, float(limit / _norm(grads)))
    return [scale * grad for grad in grads]


def _divided_above_limit(grads, limit):
    """Return every array divided by the norm where the norm exceeds the limit."""
    return [grad / (_norm(grads) if _norm(grads) > limit else 1) for grad in grads]


def _divided_above_one(grads, limit):
    """Return every array divided by the norm where the norm exceeds 1, whatever the limit."""
    return [grad / max(1.0, float(_norm(grads))) for grad in grads]


rnn_step_grad = Exercise(
    title="Backward pass of one time step of an RNN",
    forward=lambda x, h, wx, wh, b: (x @ wx + h @ wh + b).tanh(),
    inputs={
        "x": normal("bs n"),
        "h": normal("bs m"),
        "wx": weights("n m"),
        "wh": weights("m m"),
        "b": normal("m", scale=0.5),
        "out": output(),
    },
    answers=stored("x.g", "h.g", "wx.g", "wh.g", "b.g"),
    hints={
        "x.g": (
            "Two operations lie between `x` and `out`. Which of them comes first in the backward pass?",
            "Compute the gradient before the tanh once, and give it a name. The rest is the linear layer of unit 4.",
            "The derivative of tanh can be written in terms of its output, and `out` is that output.",
        ),
        "h.g": (
            "Where does `h` appear in the forward pass, and where does `x`? What is the difference?",
            "`h` is a second input of the same linear layer, with its own weights.",
            "Use the same gradient before the tanh as for `x`, and the other weight matrix; the result is (bs, m).",
        ),
        "wx.g": (
            "`wx` is used once for every row of the batch. What was it multiplied by there?",
            "`wx.g` is the weight gradient of a linear layer whose upstream gradient is the gradient before the tanh.",
            "The other factor is `x`, the upstream gradient the one before the tanh; the sum runs over the batch.",
        ),
        "wh.g": (
            "`wx` was multiplied by `x`. What was `wh` multiplied by?",
            "The upstream gradient is the same as for `wx`; the other factor is not.",
            "The other factor is the incoming state, not the new one. Both have the same shape!",
        ),
        "b.g": (
            "How many times is `b` used in this time step?",
            "It is used once in every row, before the tanh. What is the gradient there?",
            "Take the gradient before the tanh and sum it over the batch.",
        ),
    },
)

rnn_grad = Exercise(
    title="Backpropagation through time",
    forward=lambda x, h0, wx, wh, b: _states(x, h0, wx, wh, b)[-1],
    inputs={
        "x": normal("bs t n"),
        "h0": normal("bs m"),
        "wx": weights("n m"),
        "wh": weights("m m"),
        "b": normal("m", scale=0.5),
        "out": output(),
    },
    answers=stored("x.g", "h0.g", "wx.g", "wh.g", "b.g"),
    hints={
        "x.g": (
            "Does `x` of the first time step affect the last state? Along which path?",
            "Keep all states of the forward pass. Then go back from the last time step, with one `rnn_step_grad` for "
            "each.",
            "The gradient that a time step gives for its `h` is the upstream gradient of the time step before it.",
        ),
        "h0.g": (
            "How many time steps does a nudge of `h0` go through before it reaches `out`?",
            "Each time step passes the gradient of its incoming state on to the time step before.",
            "The gradient that the first time step passes on is that of `h0`.",
        ),
        "wx.g": (
            "In how many time steps is `wx` used?",
            "Each time step has its own contribution: its own `x`, and its own gradient before the tanh.",
            "Start from zeros, and add one contribution in every iteration of the loop.",
        ),
        "wh.g": (
            "In how many time steps is `wh` used, and which state did it multiply in each?",
            "In time step `i` the other factor is the incoming state: that of step `i - 1`, and `h0` in the first.",
            "Start from zeros and add in every iteration; mind that the states are shifted by one time step.",
        ),
        "b.g": (
            "`b` is used in every row. How many times in each row?",
            "Each time step has its own contribution, and the contributions add up.",
            "In every iteration, sum the gradient before the tanh over the batch, and add the result.",
        ),
    },
)

rnn_states_grad = Exercise(
    title="Backward pass of an RNN with an output at every time step",
    forward=_all_states,
    inputs={
        "x": normal("bs t n"),
        "h0": normal("bs m"),
        "wx": weights("n m"),
        "wh": weights("m m"),
        "b": normal("m", scale=0.5),
        "out": output("bs t m"),
    },
    answers=stored("x.g", "h0.g", "wx.g", "wh.g", "b.g"),
    hints={
        "x.g": (
            "A state in the middle affects the loss along two paths. Which two?",
            "The state is an output itself, and the next time step starts from it. Both paths contribute to its "
            "gradient.",
            "Add this time step's own `out.g` to the gradient from the later one, then go through the tanh.",
        ),
        "h0.g": (
            "Is `h0` itself an output? Which path to the loss does that leave?",
            "The gradient that the first time step passes on holds the contributions of all later ones.",
            "Follow the loop to its end: what it passes on after the first time step is the answer.",
        ),
        "wx.g": (
            "If only `wx.g` is wrong, look at the other factor: which `x` belongs to this iteration?",
            "Every time step contributes, with its own `x` and the full gradient of its own state.",
            "Start from zeros and add in every iteration, with the gradient that is the sum of both paths.",
        ),
        "wh.g": (
            "`out` holds all the states. Which of them did `wh` multiply in time step `i`?",
            "The incoming states are those of `out`, shifted by one time step; the first of them is `h0`.",
            "Start from zeros and add in every iteration; the other factor is the previous state.",
        ),
        "b.g": (
            "What is the gradient before the tanh in each time step?",
            "Every time step contributes, and so does every row.",
            "Two axes count the uses of `b`, the batch and the time; the sum runs over both.",
        ),
    },
)

lstm_step_grad = Exercise(
    title="Backward pass of one step of an LSTM",
    forward=_lstm_step,
    inputs={
        "x": normal("bs n"),
        "h": normal("bs m"),
        "c": normal("bs m"),
        "w": weights("n+m 4*m"),
        "b": normal("4*m", scale=0.5),
        "out": output("2 bs m"),
    },
    answers=stored("x.g", "h.g", "c.g", "w.g", "b.g"),
    hints={
        "x.g": (
            "Four gates, each with its own gradient. Through which operation do all of them lead back to `x`?",
            "Concatenate the four gradients before the activations in the order of the forward pass, to (bs, 4m).",
            "What remains is a linear layer whose input is `x` and `h` side by side; the first `n` columns belong to "
            "`x`.",
        ),
        "h.g": (
            "Where is `h` used in the forward pass? Is there a second place?",
            "`h` is used beside `x` in the input of the linear layer, and nowhere else.",
            "The gradient of the concatenated input has n + m columns; the last m belong to `h`.",
        ),
        "c.g": (
            "The new c is used twice: it is an output itself. What is the other use?",
            "Add the part that comes straight from `out.g` and the part through the tanh and the output gate.",
            "The total gradient of `new_c` reaches `c` through one product. What is the other factor there?",
        ),
        "w.g": (
            "Which columns of `w` belong to which gate?",
            "`w.g` is the weight gradient of one linear layer: its input is `x` and `h` side by side, its output four "
            "gates wide.",
            "The upstream gradient of a gate has two factors: the other factor of its product, and its own derivative.",
        ),
        "b.g": (
            "`b` is added before all the activations. What is the gradient there?",
            "Four gradients side by side, in the order i, f, g, o: three through a sigmoid, one through a tanh.",
            "The sum runs over the batch only; the result is (4m,).",
        ),
    },
)

gru_step_grad = Exercise(
    title="Backward pass of one step of a GRU",
    forward=_gru_step,
    inputs={
        "x": normal("bs n"),
        "h": normal("bs m"),
        "w": weights("n 3*m"),
        "u": weights("m 3*m"),
        "b": normal("3*m", scale=0.5),
        "out": output(),
    },
    answers=stored("x.g", "h.g", "w.g", "u.g", "b.g"),
    hints={
        "x.g": (
            "Underline `x` in the forward pass. Through which of r, z and n does it affect `out`?",
            "Concatenate the gradients before the activations of r, z and n, in this order; what remains is a linear "
            "layer.",
            "The gradient of `xn` has no factor `r`: `r` multiplies only `hn`, the part that comes from `h`.",
        ),
        "h.g": (
            "How many paths lead from `h` to `out`? Count the gates, and look at the last line.",
            "One path goes straight through `z * h`; the others go through the product with `u`.",
            "The third part of the gradient of `h @ u` has gone through the product with `r`; that of `x @ w` has not.",
        ),
        "w.g": (
            "Which input was `w` multiplied by?",
            "`x @ w` is a linear layer whose outputs are r, z and n side by side, before their activations.",
            "The other factor is `x`; the upstream gradient is that of r, z and n side by side, each with its own "
            "derivative.",
        ),
        "u.g": (
            "`w` was multiplied by `x`, `u` by `h`. Is the upstream gradient of the two products the same?",
            "For r and z it is the same. In n, the part from `h @ u` was multiplied by r before it was added.",
            "So the third part of the gradient of `h @ u` has one factor more than that of `x @ w`.",
        ),
        "b.g": (
            "`b` is added to one of the two products. Which?",
            "`b` is added to `x @ w`, so it has the same upstream gradient as that product.",
            "The sum runs over the batch only; the result is `(3m,)`.",
        ),
    },
)

truncated_rnn_grad = Exercise(
    title="Truncated backpropagation through time",
    forward=_last_state_truncated,
    inputs={
        "x": normal("bs t n"),
        "h0": normal("bs m"),
        "wx": weights("n m"),
        "wh": weights("m m"),
        "b": normal("m", scale=0.5),
        "out": output("bs m"),
        "k": Sampler("", _reach, turns=4),
    },
    answers=stored("x.g", "wx.g", "wh.g", "b.g"),
    hints={
        "x.g": (
            "Which time steps does the gradient still reach? What is the gradient of the others?",
            "The loop is that of `rnn_grad`, but it ends earlier. How many iterations does it make?",
            "`x.g` has a row for every time step; those before the last `k` stay zero.",
        ),
        "wx.g": (
            "In the forward pass every time step uses `wx`. How many of them may contribute?",
            "The backward loop makes `k` iterations, or as many as there are time steps if that is fewer.",
            "Add a contribution in each of these iterations, and none for the earlier time steps.",
        ),
        "wh.g": (
            "In the earliest time step that still contributes, which state did `wh` multiply?",
            "A constant gets no gradient, but it still has a value: `wh` was multiplied by it.",
            "Run the whole forward pass first and keep the states; the other factor is the previous state.",
        ),
        "b.g": (
            "In how many time steps may `b` still contribute?",
            "The iterations are the same as for `wx`, each with a sum over the batch.",
            "Start from zeros, and add once for each of the last `k` time steps.",
        ),
    },
    misconceptions=tuple(
        Misconception(
            "missing-path", f"{name}.g", partial(_through_first_steps, name),
            says="the backward pass goes through the first k time steps; it must go through the last k",
            hints=("Let t be 7 and k be 2. Which time steps does your loop visit? Which one is nearest to the loss?",),
        )
        for name in ("x", "wx", "wh", "b")
    ),
)  # fmt: skip

clip_grad_norm = Routine(
    title="Clip gradients by their norm",
    inputs={"grads": (normal("n m"), normal("m"), normal("k n")), "limit": Sampler("", _limit, turns=2)},
    reference=_clipped,
    returns=3,
    hints={
        f"return.{place}": (
            "What is the norm of one long vector that holds the entries of all the arrays, before clipping and after?",
            "One norm for all arrays together and one factor for all of them, so that the direction stays the same.",
            "If the norm is within the limit already, the factor is 1: clipping never makes a gradient longer.",
        )
        for place in range(3)
    },
    misconceptions=(
        Misconception("wrong-factor", "return", lambda grads, limit: [grad * (limit / _norm(grads)) for grad in grads],
                      says="the factor is not capped at 1: gradients whose norm is below the limit are scaled up",
                      hints=("Take a limit that is far larger than the norm. What should be returned?",)),
        *(
            Misconception("wrong-factor", "return", rule,
                          says="where the norm is above the limit, the arrays are divided by the norm alone: the norm "
                               "becomes 1; it must become the limit",
                          hints=("What is the norm of what you return? What must it be?",))
            for rule in (_divided_above_limit, _divided_above_one)
        ),
        Misconception("wrong-factor", "return",
                      lambda grads, limit: [grad * min(1.0, float(limit / _norm(grads) ** 2)) for grad in grads],
                      says="the square root in the norm is missing: the factor divides by the sum of the squares",
                      hints=("Double every gradient. How must the norm change, and how does yours?",)),
        Misconception("wrong-local", "return",
                      lambda grads, limit: [_clipped([grad], limit)[0] for grad in grads],
                      says="each array is scaled by its own norm; it must be scaled by the norm of all arrays together",
                      hints=("Is the direction of all entries together the same before and after?",)),
        Misconception("wrong-local", "return", lambda grads, limit: [grad.clamp(-limit, limit) for grad in grads],
                      says="each entry is clamped to the limit separately, which changes the direction",
                      hints=("The limit is for the norm of all entries. By what is each of them multiplied?",)),
    ),
)  # fmt: skip
