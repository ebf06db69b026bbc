"""Binary cross-entropy of probabilities, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def bce_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `loss = -(targ * inp.log() + (1 - targ) * (1 - inp).log()).mean()`.

    inp: (bs,), probabilities between 0 and 1; inp.g has the same shape
    targ: (bs,), each from 0 to 1: the probability that was wanted
    """
    inp.g = ...
