def silu_grad(inp, out):
    gate = out / inp
    inp.g = out.g * gate
    gate_g = out.g * inp
    inp.g += gate_g * (gate - gate ** 2)
