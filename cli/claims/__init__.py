"""The claims of Longhorn, each in a line: the command `claims`."""
