"""What only commands read of the API server, or of files."""
