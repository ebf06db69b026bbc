"""Results in the formats of the platforms that classes use; each exporter is a pure function of course and records."""
