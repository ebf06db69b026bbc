"""What unit 12 trains: a model of one transformer block that continues a text, one character after the other.

The text is the beginning of "The Walrus and the Carpenter", from Lewis Carroll's "Through the Looking-Glass" (1871),
which is in the public domain.
"""

from pathlib import Path

import torch

title = "A model of one transformer block, which continues a poem by one character after the other"
exercises = (
    "causal_attention_grad", "swiglu_grad", "layernorm_grad", "embedding_grad", "lin_grad_nd", "cross_entropy_grad"
)  # fmt: skip
steps, rate, goal = 800, 0.1, 1.0
bs, t, n, m = 16, 32, 48, 64
letters = "\n !\"',-.:;?abcdefghijklmnopqrstuvwxyz"


def data():
    """`text: (characters,)`, for each character its number among the letters."""
    text = Path(__file__).with_name("training_text.txt").read_text(encoding="utf-8").lower()
    return {"text": torch.tensor([letters.index(each) for each in text])}


def weights():
    """The tables of characters and places, and the weights of the block and of the last layer."""
    drawn = torch.Generator().manual_seed(12)
    v = len(letters)
    shapes = {"table": (v, n), "place": (t, n), "wq": (n, n), "wk": (n, n), "wv": (n, n), "wo": (n, n), "w1": (n, m),
              "w2": (n, m), "w3": (m, n), "last": (n, v)}  # fmt: skip
    found = {name: torch.randn(shape, generator=drawn) / shape[0] ** 0.5 for name, shape in shapes.items()}
    for name in ("table", "place"):
        found[name] = torch.randn(shapes[name], generator=drawn) * 0.3
    for name in ("gamma1", "gamma2", "gamma3"):
        found[name], found[name.replace("gamma", "beta")] = torch.ones(n), torch.zeros(n)
    return found


def batch(data, step):
    """`idx: (bs, t)` and `targ: (bs * t,)`: pieces of the text, and of each character the next one."""
    text = data["text"]
    first = torch.randint(len(text) - t, (bs, 1), generator=torch.Generator().manual_seed(step))
    places = first + torch.arange(t)
    return {"idx": text[places], "targ": text[places + 1].flatten()}


def _norm(x, gamma, beta):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * gamma + beta


def _attention(q, k, v):
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(later, float("-inf")).softmax(-1) @ v


def _forward(w, idx):
    """Every step of the forward pass by its name: each is what an exercise has as `inp` or as `out`."""
    s = {"looked_up": w["table"][idx]}
    s["x"] = s["looked_up"] + w["place"][: idx.shape[1]]
    s["n1"] = _norm(s["x"], w["gamma1"], w["beta1"])
    s["q"], s["k"], s["v"] = (s["n1"] @ w[name] for name in ("wq", "wk", "wv"))
    s["mixed"] = _attention(s["q"], s["k"], s["v"])
    s["attended"] = s["mixed"] @ w["wo"]
    s["h"] = s["x"] + s["attended"]
    s["n2"] = _norm(s["h"], w["gamma2"], w["beta2"])
    s["rows"] = s["n2"].flatten(0, 1)
    gate = s["rows"] @ w["w2"]
    s["gated"] = (s["rows"] @ w["w1"]) * gate * gate.sigmoid()
    s["hidden"] = s["gated"].unflatten(0, idx.shape)
    s["mlp"] = s["hidden"] @ w["w3"]
    s["y"] = s["h"] + s["mlp"]
    s["n3"] = _norm(s["y"], w["gamma3"], w["beta3"])
    s["logits"] = s["n3"] @ w["last"]
    return s


def loss(w, batch):
    """The cross-entropy of the next character."""
    logits = _forward(w, batch["idx"])["logits"].flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, batch["targ"])


def gradients(w, batch):
    """Let the learner's functions, one after the other from the loss down, store a gradient on each of the weights."""
    from causal_attention_grad import causal_attention_grad
    from cross_entropy_grad import cross_entropy_grad
    from embedding_grad import embedding_grad
    from layernorm_grad import layernorm_grad
    from lin_grad_nd import lin_grad_nd
    from swiglu_grad import swiglu_grad
    from training_loop import stored

    def given(name, g):
        """A value of the forward pass with its upstream gradient: what a function takes as `out`."""
        out = s[name].clone()
        out.g = g
        return out

    def linear(name, weight, out, g):
        """The gradient of a linear layer's input; there is no bias, so a row of zeros stands for it."""
        inp = s[name].clone()
        lin_grad_nd(inp, given(out, g), w[weight], torch.zeros(w[weight].shape[1]))
        return stored(inp)

    def norm(name, number, g):
        """The gradient of what goes into a norm."""
        inp = s[name].clone()
        layernorm_grad(inp, w[f"gamma{number}"], w[f"beta{number}"], given(f"n{number}", g))
        return stored(inp)

    s = _forward(w, batch["idx"])
    logits = s["logits"].flatten(0, 1)
    cross_entropy_grad(logits, batch["targ"])
    y_g = norm("y", 3, linear("n3", "last", "logits", stored(logits).reshape(s["logits"].shape)))
    hidden_g, rows = linear("hidden", "w3", "mlp", y_g), s["rows"].clone()
    swiglu_grad(rows, w["w1"], w["w2"], given("gated", hidden_g.flatten(0, 1)))
    h_g = y_g + norm("h", 2, stored(rows).reshape(s["h"].shape))
    q, k, v = (s[name].clone() for name in "qkv")
    causal_attention_grad(q, k, v, given("mixed", linear("mixed", "wo", "attended", h_g)))
    n1_g = sum(linear("n1", f"w{name}", name, stored(part)) for name, part in zip("qkv", (q, k, v), strict=True))
    x_g = h_g + norm("x", 1, n1_g)
    w["place"].g = x_g.sum(0)
    embedding_grad(batch["idx"], w["table"], given("looked_up", x_g))


def continued(w, data, length=240):
    """What the model makes of the beginning of the text, a character at a time, the likely ones more often."""
    drawn, found = torch.Generator().manual_seed(0), data["text"][:t].tolist()
    for _ in range(length):
        logits = _forward(w, torch.tensor([found[-t:]]))["logits"][0, -1]
        found.append(int(torch.multinomial((logits / 0.5).softmax(-1), 1, generator=drawn)))
    return "".join(letters[each] for each in found)
