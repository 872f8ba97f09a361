"""What a release is made of, and what is known against it. Run by make, never by the service."""
