"""Units of CENT beside the channels of its devices."""
