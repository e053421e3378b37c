"""INF²: engines of the accelerator in the drive."""
