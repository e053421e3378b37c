"""LoL-PIM: the dispatcher and the module."""
