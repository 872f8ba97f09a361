"""One running instance of the service: what it knows, whether it leads, what it answers."""
