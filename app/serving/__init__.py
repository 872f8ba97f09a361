"""HTTP: from a connection to a decoded request, and back."""
