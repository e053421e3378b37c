"""What hardware must live with, as data with the schema that validates it. Imports no other part of Bankside."""
