"""A class: its submissions read and graded, here or on a cluster, and the report on it."""
