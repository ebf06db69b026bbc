"""A linear layer with the weights of torch.nn.Linear, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def linear_grad(inp, out, weight, bias):
    """Store the gradient of the loss in `inp.g`, `weight.g` and `bias.g`.

    Forward: `out = inp @ weight.t() + bias`. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    weight: (m, n)
    bias: (m,)
    """
    inp.g = ...
    weight.g = ...
    bias.g = ...
