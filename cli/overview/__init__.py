"""What nodes and disks have left, and how large a volume may be: the command `overview`."""
