# expect *: todo
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    """Forward pass, backward pass, and the loss."""
    ...
