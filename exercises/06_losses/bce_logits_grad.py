"""Binary cross-entropy, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def bce_logits_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `loss = -(targ * prob.log() + (1 - targ) * (1 - prob).log()).mean()`,
    where `prob = inp.sigmoid()`.

    inp: (bs,), logits; inp.g has the same shape
    targ: (bs,), each from 0 to 1: the probability that was wanted
    """
    inp.g = ...
