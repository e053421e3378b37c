"""A unit, a system and a paper that are not part of Bankside."""

#: Version of the contracts for which this package is written. Bankside leaves it out if its own version differs.
BANKSIDE_CONTRACT = 1
