"""Reading Longhorn's objects: their fields, their records, and the kinds there are."""
