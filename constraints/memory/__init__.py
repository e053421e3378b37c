"""Memories as data: organisation, commands, timing constraints, refresh and energy, one YAML file each.

:func:`load_memory` reads a file of this folder by name, or any file by path. Adding a memory is adding a file.
"""

from .memory import Constraint, Memory, MemoryCommand, Refresh, available, load_memory, without_physics

__all__ = ["Constraint", "Memory", "MemoryCommand", "Refresh", "available", "load_memory", "without_physics"]
