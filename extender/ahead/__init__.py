"""Figures for days to come: how large a volume may be, what is left, which nodes may be lost."""
