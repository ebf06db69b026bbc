"""The groups of subcommands of `handgrad`."""
