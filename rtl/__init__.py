"""Generated Verilog of the published configurations; `make rtl` rebuilds it."""
