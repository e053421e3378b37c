"""Units as hardware: selection, Verilog, synthesis, packages."""
