"""A topological order: every value after its parents. The lesson is README.md in this folder."""


def topological_order(parents):
    """Return the numbers of all values, each after all values that it is computed from.

    Where several orders do, any of them is right. The values are not numbered in such an order already.

    parents: a list of tuples; `parents[i]` has the numbers of the values value i is computed from
    returns: a list with every number from 0 to len(parents) - 1, each once
    """
    ### BEGIN SOLUTION
    # A value is entered once all of its parents are; a list of what waits holds out longer than calls inside calls do.
    order, seen = [], set()
    waiting = [(number, False) for number in range(len(parents))]
    while waiting:
        number, parents_are_in = waiting.pop()
        if parents_are_in:
            order.append(number)
        elif number not in seen:
            seen.add(number)
            waiting.append((number, True))
            waiting.extend((parent, False) for parent in parents[number])
    return order
    ### END SOLUTION
