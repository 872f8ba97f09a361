"""The pods that got no node: who they are, and which of them may fit by now."""
