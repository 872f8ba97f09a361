"""The `doctor` command: reads how the service is wired, and says what is wrong and what to do."""
