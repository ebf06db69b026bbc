def inv_grad(inp, out):
    (inp_sq := inp * inp).neg_().reciprocal_()
    inp.__dict__.update(g=out.g * inp_sq)
