"""All tests; their builders and strategies are imported from here."""
