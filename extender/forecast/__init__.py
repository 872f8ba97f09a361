"""Where the replicas that are not placed yet will take room: what other pods find less."""
