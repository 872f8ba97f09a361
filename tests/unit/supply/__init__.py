"""Tests of how a release is put together: versions, lists of parts, audits, workflows."""
