"""The second factor of a chain. The lesson is README.md in this folder."""


def dz_dy(y):
    """Return how each entry of `z` reacts to the same entry of `y`.

    Forward: `z = 3 * y**2`.

    y: any shape; the answer has the same
    """
    ### BEGIN SOLUTION
    # 3 * y**2 has the derivative 3 * 2 * y, taken at the y that went through.
    return 6 * y
    ### END SOLUTION
