"""Exercises of unit 07: a whole network, forward and backward."""

from handgrad import Exercise, Sampler, normal, output, returned_value, stored


def _one_open_gate(rng, _setting, shape):
    """Return standard normal biases, the first one raised until its unit is almost never blocked."""
    biases = rng.standard_normal(shape).astype("float32")
    biases[0] += 6
    return biases


def _far_targets(rng, _setting, shape):
    """Return targets beyond every prediction, so that the errors in `b2.g` cannot cancel down to rounding."""
    return rng.uniform(40, 90, shape).astype("float32")


def _network(inp, targ, w1, b1, w2, b2):
    """loss = mse(l2 @ w2 + b2, targ), l2 = l1.clamp_min(0), l1 = inp @ w1 + b1"""
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    return (out.squeeze(-1) - targ).pow(2).mean()


def _tied(inp, w):
    """out = hidden @ w.t(), hidden = (inp @ w).tanh()"""
    hidden = (inp @ w).tanh()
    return hidden @ w.t()


def _without_squeeze(inp, targ, w1, b1, w2, b2):
    """Return the loss in which (bs, 1) minus (bs,) broadcasts to (bs, bs)."""
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
            "`inp.g` is the last gradient of the backward pass. Are all the gradients before it right, starting at the "
            "loss?",
            "`inp.g` comes from the first linear layer; what is the upstream gradient of that layer?",
            "Take the gradient after the mask of the relu, and multiply by `w1`, transposed as in unit 4, to get "
            "`(bs, n)`.",
        ),
        "w1.g": (
            "If `w2.g` is right and `w1.g` is not, where between them is the mistake: the gradient of the hidden "
            "layer, or the relu?",
            "The first layer is the linear layer of unit 4. Which tensor is its `inp`, and which its `out`?",
            "The upstream gradient has shape `(bs, h)` and includes the mask of the relu; the other factor is the "
            "data.",
        ),
        "b1.g": (
            "Which of the hidden units does the relu set to 0, and for which examples?",
            "`b1` is added in every row, before the relu. What is the upstream gradient there?",
            "Take the same `(bs, h)` gradient that `w1.g` uses, and sum it over the examples only.",
        ),
        "w2.g": (
            "Only the mse comes after the second layer. Is the gradient of the predictions right, with shape "
            "`(bs, 1)`?",
            "The second layer multiplies `w2` by its own input. Which tensor is that?",
            "The other factor is the hidden layer after the relu; the answer has shape `(h, 1)`.",
        ),
        "b2.g": (
            "How does the loss change when every prediction rises by the same small amount?",
            "`b2` is added to each of the `bs` predictions. What is copied in the forward pass is summed in the "
            "backward pass.",
            "Sum the gradient of the predictions over the examples only; `(1,)` remains.",
        ),
        "return": (
            "The function stores gradients and also returns a value. With what does the forward pass end?",
            "Write the shapes of the predictions and the targets side by side before you subtract.",
            "Return one number, shape `()`: square the differences first, then average over the examples.",
        ),
    },
)

tied_weights_grad = Exercise(
    title="Tied weights: one matrix, used twice",
    forward=_tied,
    # Small weights keep tanh away from its flat ends, where rounding would be all that is left of its slope.
    inputs={"inp": normal("bs n"), "out": output(), "w": normal("n m", scale=0.4)},
    answers=stored("inp.g", "w.g"),
    hints={
        "inp.g": (
            "Which steps lead from `inp` to `out`, and how many of them does a nudge of `inp` pass through?",
            "Go backward from `out`: a matrix product, a tanh, a matrix product. What is the gradient after each of "
            "them?",
            "The derivative of tanh is one minus the square of its output; so store that output in a variable.",
        ),
        "w.g": (
            "Underline every `w` in the forward pass. How many are there?",
            "Pretend that the two are different matrices, and write down the gradient of each. What are their shapes?",
            "The second `w` is transposed, so its gradient has to be transposed back before the two gradients are"
            " added.",
        ),
    },
)
