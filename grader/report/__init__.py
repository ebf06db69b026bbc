"""The report on a class: one page to read, one table to calculate with."""
