def dy_dx(x): return x.new_ones(x.shape)
def dz_dy(y): return 6 * y
def dout_dz(z): return z.new_full(z.shape, 1 / z.numel())

def dout_dx(x):
    y = x + 2
    z = 3*y*y
    return dout_dz(z) * dz_dy(y) * dy_dx(x)
