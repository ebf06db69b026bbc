"""The commands of `handgrad`, by who types them: each reads its options, makes one call and returns an exit code."""
