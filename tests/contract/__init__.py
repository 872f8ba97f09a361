"""What the code under test relies on in an API server; asked of every server there is."""
