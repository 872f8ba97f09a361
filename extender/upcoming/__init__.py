"""Room that will be taken and is not yet: who takes it, and where it is found."""
