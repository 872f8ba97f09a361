"""The picture: nodes with their disks, drawn from a report, as one page that loads nothing."""
