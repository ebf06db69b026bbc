"""nbgrader's own commands and gradebook, made safe and fast."""
