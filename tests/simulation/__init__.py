"""The whole system by seed on virtual time: our service as it is, and everything else played."""
