"""Tests of alerts and dashboard as they are written: names, texts, runbooks."""
