"""INF²: attention near storage."""
