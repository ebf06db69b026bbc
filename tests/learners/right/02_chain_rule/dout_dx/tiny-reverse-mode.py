class Node:
    def __init__(self, value, parents=()):
        self.value, self.parents, self.g = value, parents, 0

    def back(self, g):
        self.g = self.g + g
        for parent, local in self.parents:
            parent.back(g * local)


def dout_dx(x):
    leaf = Node(x)
    y = Node(x + 2, [(leaf, 1)])
    z = Node(3 * y.value**2, [(y, 3 * y.value), (y, 3 * y.value)])
    z.back(1 / x.numel())
    return leaf.g
