"""Hold what several tests share: examples with known outcomes, and checks that take more than a line."""
