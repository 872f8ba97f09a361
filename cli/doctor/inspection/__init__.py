"""Reads what `doctor` judges. A reading that fails does not stop the others."""

from cli.doctor.inspection.inspecting import inspect

__all__ = ["inspect"]
