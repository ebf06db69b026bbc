# mend_layernorm: out = gamma * hat + beta, hat = (inp - mean) / (var + 1e-5).sqrt()

# %% right: unbiased=False
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% right: correction=0
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, correction=0, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% right: the mean of the squares
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (((inp - mean) ** 2).mean(-1, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: hat from out, where gamma may be 0 | inp.g, gamma.g: not-finite
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (out - beta) / gamma
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: as it was found | *: todo
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: as it was found, but for a name | *: wrong-factor
def mend_layernorm(inp, gamma, beta, out):
    average = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - average) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: std in place of var | *: wrong-operand
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.std(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: a large eps, outside of the root | inp.g: imprecise or unknown; gamma.g: imprecise or unknown or wrong-factor
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = 1 / (inp.var(-1, unbiased=False, keepdim=True).sqrt() + 0.1)
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: mended, but the mean of the batch | *: summed-wrong-axis
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(0, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: mended, but gamma left out | inp.g: missing-local
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: mended, but the mean's path is lost | inp.g: missing-path
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: mended, but the variance's path is lost | inp.g: missing-path
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: mended, but inp stands for hat | gamma.g: wrong-operand or missing-local or wrong-point or wrong-local
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * inp).sum(0)


# %% wrong: mended, but gamma.g is a mean | gamma.g: mean-for-sum
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).mean(0)


# %% wrong: mended, but inv is forgotten | inp.g: missing-local or missing-path or wrong-local
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: divided by the variance | *: wrong-local or missing-local or wrong-point or wrong-operand
def mend_layernorm(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -1
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)


# %% wrong: not begun | *: todo
def mend_layernorm(inp, gamma, beta, out):
    inp.g = ...
    gamma.g = ...
