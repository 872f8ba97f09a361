"""The documentation is held to the program: its commands, links and tables."""
