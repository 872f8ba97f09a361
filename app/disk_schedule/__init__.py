"""The controller of DiskSchedule objects: decides what each disk holds, and writes it."""
