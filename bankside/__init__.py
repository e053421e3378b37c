"""Bankside: hardware that sits beside memory for LLM decoding, generated, proven, measured and put into a server.

The parts ``gen``, ``models``, ``cosim``, ``constraints`` and ``rtl`` are folders beside this package in a checkout.
Relative links in this folder make them subpackages for every tool; a wheel holds them as plain folders.
"""

__version__ = "0.1.0"
