"""CENT: units of the CXL device, its instructions, its RISC-V cores, and measured GPUs."""
