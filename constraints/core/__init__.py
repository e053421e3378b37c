"""What every unit and every result stands on: contracts, documents, errors, files, formats, records, registry."""
