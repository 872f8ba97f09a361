"""How the storage of a cluster is, on one screen: the command `status`."""
