"""Why a pod gets the nodes that it gets, and what to do: what `filter` prints."""
