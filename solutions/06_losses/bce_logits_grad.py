"""Binary cross-entropy, backwards. The lesson is README.md in this folder."""


def bce_logits_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `loss = -(targ * prob.log() + (1 - targ) * (1 - prob).log()).mean()`,
    where `prob = inp.sigmoid()`.

    inp: (bs,), logits; inp.g has the same shape
    targ: (bs,), each from 0 to 1: the probability that was wanted
    """
    ### BEGIN SOLUTION
    # The slope of the sigmoid cancels both denominators of the two logarithms, and belief less truth is left.
    inp.g = (inp.sigmoid() - targ) / len(inp)
    ### END SOLUTION
