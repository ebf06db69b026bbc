"""A linear layer with the weights of torch.nn.Linear, backwards. The lesson is README.md in this folder."""


def linear_grad(inp, out, weight, bias):
    """Store the gradient of the loss in `inp.g`, `weight.g` and `bias.g`.

    Forward: `out = inp @ weight.t() + bias`. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    weight: (m, n)
    bias: (m,)
    """
    ### BEGIN SOLUTION
    # In weight[j,k] the summed j is first already; for weight.g the answer's first index is j, so out.g is turned.
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)
    ### END SOLUTION
