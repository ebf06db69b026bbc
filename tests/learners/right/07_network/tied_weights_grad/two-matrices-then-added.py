def lin_grad(i, o_g, w):
    return o_g @ w.t(), i.t() @ o_g


def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    h_g, decoder_g = lin_grad(h, out.g, w.t())
    inp.g, encoder_g = lin_grad(inp, h_g * (1 - h.pow(2)), w)
    w.g = encoder_g + decoder_g.t()
