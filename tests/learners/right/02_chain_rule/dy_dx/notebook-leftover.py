import torch

x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = 3 * y * y
out = z.mean()
out.backward()
print(x.grad)


def dy_dx(x: torch.Tensor) -> torch.Tensor:
    return x.new_ones(x.shape)
