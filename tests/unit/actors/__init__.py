"""Tests of the actors: what an error in them could hide from the simulation, or let it miss.

Only here they are compared with what Longhorn's own controllers were recorded to do. What every run
of the simulation would show by itself is not tested again.
"""
