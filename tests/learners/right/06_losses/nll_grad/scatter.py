def nll_grad(inp, targ):
    share = inp.new_tensor(-1.0).div(len(inp))
    inp.g = inp.mul(0).scatter_(1, targ.view(-1, 1), share.expand(len(inp), 1))
