"""What people are shown of a decision: where volumes would go, what is short, who else comes."""
