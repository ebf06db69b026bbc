"""Exercises of unit 11: one weight, many moments."""

from handgrad import Exercise, Misconception, Routine, Sampler, normal, output, stored, weights


def _states(x, h, wx, wh, b):
    """h = (x[:, i] @ wx + h @ wh + b).tanh(), moment after moment; each of them (bs, m)"""
    states = []
    for i in range(x.shape[1]):
        h = (x[:, i] @ wx + h @ wh + b).tanh()
        states.append(h)
    return states


def _all_states(x, h0, wx, wh, b):
    """out[:, i] = (x[:, i] @ wx + out[:, i-1] @ wh + b).tanh(), where out[:, -1] is h0"""
    import torch

    return torch.stack(_states(x, h0, wx, wh, b), 1)


def _last_state_truncated(x, h0, wx, wh, b, k):
    """out is the last state, and the state that the last k moments start from counts as a constant"""
    known = max(0, x.shape[1] - k)
    states = [h0, *_states(x[:, :known], h0, wx, wh, b)]
    return _states(x[:, known:], states[-1].detach(), wx, wh, b)[-1]


def _lstm_step(x, h, c, w, b):
    """i, f, g, o = (cat(x, h) @ w + b).chunk(4), c2 = f.sigmoid() * c + i.sigmoid() * g.tanh(), h2 = ..."""
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
    """How many moments a gradient may go back: fewer than there are, then as many, then more."""
    moments = setting.sizes["t"]
    fewer = int(rng.integers(2, moments)) if moments > 2 else moments
    return (fewer, moments, moments + 1, moments + 3)[setting.turn % 4]


def _limit(rng, setting, _shape):
    """A limit that is passed in one trial and not in the next."""
    low, high = ((0.25, 2), (400, 800))[setting.turn % 2]
    return float(rng.uniform(low, high, ()).astype("float32"))


def _norm(grads):
    """The length of all entries of all arrays together."""
    return sum((grad**2).sum() for grad in grads) ** 0.5


def _clipped(grads, limit):
    """Every array times limit / norm, where the norm is larger than the limit."""
    scale = min(1.0, float(limit / _norm(grads)))
    return [scale * grad for grad in grads]


rnn_step_grad = Exercise(
    title="One moment of a recurrent network, backwards",
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
            "Two steps lie between x and out. Which of them comes first on the way back?",
            "Bring out.g through the tanh, once, under a name of its own. The rest is the linear layer of unit 4.",
            "tanh's slope is made from what it gave, and out is what it gave.",
        ),
        "h.g": (
            "Where does h stand in the forward pass, and where does x? What is the difference?",
            "h is a second input of the same linear layer, with weights of its own.",
            "The same gradient of the sums as for x, and the other matrix; (bs, m) remains.",
        ),
        "wx.g": (
            "wx is used once for every row of the batch. Who was its partner there?",
            "It is the weight gradient of a linear layer, with the gradient of the sums as its upstream.",
            "Partner x, upstream the gradient in front of the tanh; the batch is what is summed away.",
        ),
        "wh.g": (
            "wx met x. Whom did wh meet?",
            "The same upstream as for wx, and another partner.",
            "Its partner is the state that came in, not the one that goes out. Both have the same shape!",
        ),
        "b.g": (
            "How often is b used in this moment?",
            "Once in every row, in front of the tanh. What arrives there?",
            "The gradient of the sums, with the batch summed away.",
        ),
    },
)

rnn_grad = Exercise(
    title="A recurrent network, back through time",
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
            "Does the first moment's x have a say in the last state? Along which way?",
            "Run forward and keep every state. Then go back from the last moment, one rnn_step_grad at a time.",
            "What a step gives for its h is the upstream gradient of the moment before it.",
        ),
        "h0.g": (
            "How many steps does a nudge of h0 go through before it comes to out?",
            "Each moment hands the gradient of its incoming state to the moment before.",
            "What the first moment hands on belongs to h0.",
        ),
        "wx.g": (
            "In how many moments is wx used?",
            "Each moment has its own contribution: its own x, its own gradient of the sums.",
            "Begin with zeros, and let every turn of the loop add.",
        ),
        "wh.g": (
            "In how many moments is wh used, and which state did it meet in each?",
            "In moment i its partner is the state that came in: that of moment i - 1, in the first one h0.",
            "Begin with zeros, and let every turn of the loop add; mind that the states are one moment off.",
        ),
        "b.g": (
            "b is used once for each row. And how many times in each row?",
            "Each moment sends its own contribution, and they add.",
            "In every turn the gradient of the sums loses its batch axis; add what remains.",
        ),
    },
)

rnn_states_grad = Exercise(
    title="An output at every moment, backwards",
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
            "A state in the middle has a say in the loss in two ways. Which two?",
            "It is an output itself, and it is what the next moment starts from. Both send something back.",
            "In every turn: add this moment's own out.g to what the later moment handed on, then go through the tanh.",
        ),
        "h0.g": (
            "Is h0 itself an output? Which path is left to it?",
            "What the first moment hands on has gathered all that came from later ones.",
            "Follow the loop to its end: after the first moment, what you hand on is the answer.",
        ),
        "wx.g": (
            "If wx.g is wrong and all else is right, look at the partner: which x belongs to this turn?",
            "Every moment contributes, with its own x and with all that arrives at this moment.",
            "Begin with zeros and add in every turn, with the gradient that has gathered both ways.",
        ),
        "wh.g": (
            "out holds all the states. Which of them did wh meet in moment i?",
            "The states that came in are out, one moment later; the first of them is h0.",
            "Begin with zeros and add in every turn; the partner is the state before.",
        ),
        "b.g": (
            "What arrives in front of the tanh in each moment?",
            "Every moment contributes, and so does every row.",
            "Two axes number the uses of b, the batch and time, and both are summed away.",
        ),
    },
)

lstm_step_grad = Exercise(
    title="One step of an LSTM, backwards",
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
            "Four gates, each with its own gradient. Through what do all of them come back to x?",
            "Join the four gradients in front of the gates in the order of the forward pass; (bs, 4m).",
            "Then it is a linear layer whose input was x and h side by side; the first n columns are x's.",
        ),
        "h.g": (
            "Where is h on the way forward? Is there a second place?",
            "h stands beside x in the input of the linear layer, and nowhere else.",
            "The gradient of the joined input has n + m columns; h's are the last m.",
        ),
        "c.g": (
            "The new c goes to two places: it is an output itself. And the other?",
            "Add what comes straight from out.g and what comes through the tanh and the output gate.",
            "What has gathered at the new c reaches the old one through one product. Who was its partner?",
        ),
        "w.g": (
            "Which columns of w make which gate?",
            "It is the weight gradient of one linear layer: input x and h side by side, upstream four gates wide.",
            "For the upstream each gate needs two things: its partner in a product, and its own slope.",
        ),
        "b.g": (
            "b is added in front of all the gates. What arrives there?",
            "Four gradients side by side, in the order i, f, g, o; three slopes of a sigmoid, one of a tanh.",
            "Only the batch is summed away; (4m,) remains.",
        ),
    },
)

gru_step_grad = Exercise(
    title="One step of a GRU, backwards",
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
            "Underline x in the forward pass. Through which of the three gates does it act?",
            "Join the gradients in front of r, z and n, in this order; then it is a linear layer.",
            "The one in front of n has no factor r: r stands beside the part of h only.",
        ),
        "h.g": (
            "How many paths lead from h to out? Count the gates, and look at the last line.",
            "One goes straight through z * h, the others through the product with u.",
            "In front of h @ u the third part has passed through the product with r, which the part of x has not.",
        ),
        "w.g": (
            "Which input did w meet?",
            "A linear layer with three gates side by side as its outputs.",
            "Partner x; upstream the gradients in front of r, z and n, each with its own slope.",
        ),
        "u.g": (
            "w met x, u met h. Is the upstream gradient of the two products the same?",
            "For r and z it is. In n, h @ u was multiplied by r before it was added.",
            "So the third part of what arrives at h @ u has one factor more than that of x @ w.",
        ),
        "b.g": (
            "b is added on one of the two sides. Which?",
            "It stands beside x @ w, so the same upstream arrives.",
            "Only the batch is summed away; (3m,) remains.",
        ),
    },
)

truncated_rnn_grad = Exercise(
    title="Back through the last moments only",
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
            "Which moments may still hear of the loss? What is the gradient of the others?",
            "The loop is that of rnn_grad, only it ends earlier. How many turns does it make?",
            "x.g has a row for every moment; those before the last k stay zeros.",
        ),
        "wx.g": (
            "Forward, all moments use wx. How many of them may contribute?",
            "The loop that goes back makes k turns, or as many as there are moments, if that is less.",
            "Add in each of these turns, and nothing for the earlier ones.",
        ),
        "wh.g": (
            "In the earliest moment that still counts, which state did wh meet?",
            "A constant has no gradient, but it is still a value: wh was multiplied by it.",
            "Run forward through all moments first, and keep the states; the partner is the state before.",
        ),
        "b.g": (
            "In how many moments may b still be heard?",
            "The same turns as for wx, and the batch summed away in each.",
            "Begin with zeros, add once for each of the last k moments.",
        ),
    },
)

clip_grad_norm = Routine(
    title="Scale a list of gradients down to a norm",
    inputs={"grads": (normal("n m"), normal("m"), normal("k n")), "limit": Sampler("", _limit, turns=2)},
    reference=_clipped,
    returns=3,
    hints={
        f"return.{place}": (
            "How long is one arrow that has the entries of all the arrays as its coordinates?",
            "One norm for all of them together, and one factor for all of them, so that the direction stays.",
            "If the norm is within the limit already, the factor is 1; it never makes anything longer.",
        )
        for place in range(3)
    },
    misconceptions=(
        Misconception("missing-local", "return", lambda grads, limit: [grad * (limit / _norm(grads)) for grad in grads],
                      says="the factor is not capped at 1: gradients that are shorter than the limit are stretched",
                      hints=("Take a limit that is far larger than the norm. What should come back?",)),
        Misconception("missing-local", "return",
                      lambda grads, limit: [grad * min(1.0, float(limit / _norm(grads) ** 2)) for grad in grads],
                      says="the root of the norm is missing: the factor has the sum of the squares",
                      hints=("Double every gradient. What must the norm do, and what does yours?",)),
        Misconception("wrong-local", "return",
                      lambda grads, limit: [_clipped([grad], limit)[0] for grad in grads],
                      says="each array is scaled by its own norm: there is one norm, of all of them together",
                      hints=("Is the direction of all entries together the same before and after?",)),
        Misconception("wrong-local", "return", lambda grads, limit: [grad.clamp(-limit, limit) for grad in grads],
                      says="every entry is clamped to the limit by itself, which changes the direction",
                      hints=("The limit is one for the norm of all entries. By what are all of them multiplied?",)),
    ),
)  # fmt: skip
