"""The charter's test plan on a cluster that somebody has, and what came of it."""
