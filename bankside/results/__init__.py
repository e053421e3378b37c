"""Results as text and as schemas."""
