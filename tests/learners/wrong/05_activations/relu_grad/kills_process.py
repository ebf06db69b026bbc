# expect *: crash
import os
def relu_grad(inp, out):
    if (inp < 0).any():
        os.abort()
    inp.g = out.g
