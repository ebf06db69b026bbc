"""Worker processes as the grader sees them, and the isolation that they run in."""
