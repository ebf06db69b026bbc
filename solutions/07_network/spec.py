"""Exercises of unit 07: a whole network, forward and backward."""

from handgrad import Exercise, Sampler, normal, output, returned_value, stored


def _one_open_gate(rng, _setting, shape):
    """Standard normal biases, the first one raised until its unit is almost never blocked."""
    biases = rng.standard_normal(shape).astype("float32")
    biases[0] += 6
    return biases


def _far_targets(rng, _setting, shape):
    """Targets beyond every prediction, so that the errors cannot cancel in `b2.g` and leave mostly rounding."""
    return rng.uniform(40, 90, shape).astype("float32")


def _network(inp, targ, w1, b1, w2, b2):
    """loss = mse(relu(inp @ w1 + b1) @ w2 + b2, targ)"""
    hidden = (inp @ w1 + b1).clamp_min(0)
    out = hidden @ w2 + b2
    return (out.squeeze(-1) - targ).pow(2).mean()


def _without_squeeze(inp, targ, w1, b1, w2, b2):
    """The loss in which (bs, 1) minus (bs,) broadcasts to (bs, bs)."""
    hidden = (inp @ w1 + b1).clamp_min(0)
    out = hidden @ w2 + b2
    return (out - targ).pow(2).mean()


forward_and_backward = Exercise(
    title="A network, forward and backward",
    forward=_network,
    inputs={
        "inp": normal("bs n"),
        "targ": Sampler("bs", _far_targets, differentiable=True),
        "w1": normal("n h"),
        "b1": Sampler("h", _one_open_gate, differentiable=True),
        "w2": normal("h 1"),
        "b2": normal("1"),
    },
    answers=stored("inp.g", "w1.g", "b1.g", "w2.g", "b2.g") + returned_value(),
    hints={
        "inp.g": (
            "It is the last gradient on the way back. Are all those above it right, from the loss down?",
            "It comes from the first linear layer; what is upstream of that layer?",
            "Upstream is the gradient behind the relu's gates; the weights w1 carry it on to (bs, n).",
        ),
        "w1.g": (
            "If w2.g is right and w1.g is not, the mistake lies between them: second layer's input, or relu.",
            "The first layer is the linear layer of unit 4. Which tensor plays its inp, and which its out?",
            "Its upstream has shape (bs, h) and has passed the relu's gates; its partner is the data.",
        ),
        "b1.g": (
            "Which of the hidden units did the relu block, and for which examples?",
            "b1 was added in every row, before the relu. What arrives there on the way back?",
            "Take the same (bs, h) gradient that w1.g uses, and let only the axis of the examples disappear.",
        ),
        "w2.g": (
            "Only the mse lies above the second layer. Is the gradient of the predictions right, as (bs, 1)?",
            "The second layer multiplied w2 by its own input. Which tensor was that?",
            "Its partner is the hidden layer after the relu; the answer has shape (h, 1).",
        ),
        "b2.g": (
            "How does the loss react when every prediction rises by the same small amount?",
            "b2 was added to each of the bs predictions. What fans out forward is summed backward.",
            "Reduce the gradient of the predictions over the examples only; (1,) remains.",
        ),
        "return": (
            "The function stores gradients and also returns something. What did the forward pass end with?",
            "Write the shapes of the predictions and the targets side by side before you subtract.",
            "One number, shape (): square the differences first, then average over the examples.",
        ),
    },
)

tied_weights_grad = Exercise(
    title="Tied weights: one matrix, used twice",
    forward=lambda inp, w: (inp @ w).tanh() @ w.t(),
    # Small weights keep tanh away from its flat ends, where rounding would be all that is left of its slope.
    inputs={"inp": normal("bs n"), "out": output(), "w": normal("n m", scale=0.4)},
    answers=stored("inp.g", "w.g"),
    hints={
        "inp.g": (
            "Name the steps from inp to out. How many of them does a nudge of inp pass through?",
            "Walk back from out: a matrix product, a tanh, a matrix product. What arrives behind each of them?",
            "The tanh lets pass one minus the square of what it gave; so keep what it gave in a name of its own.",
        ),
        "w.g": (
            "Underline every w in the forward pass. How many are there?",
            "Pretend that the two are different matrices, and write down the gradient of each. What shapes have they?",
            "The one on the right is turned, so its gradient has to be turned back before the two are added.",
        ),
    },
)
