"""Tests of holds: only here any order of answers, sightings and replicas is told a model, too."""
