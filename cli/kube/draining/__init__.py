"""What `may-drain` reads; the service reads none of it, so that its own records stay lean."""
