"""What every process has that serves and may lead."""
