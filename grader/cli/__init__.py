"""The commands of `handgrad`: each reads its options, makes one call and returns an exit code."""
