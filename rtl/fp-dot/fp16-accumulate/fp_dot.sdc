# fp-dot fp16-accumulate: target clock 500 MHz
create_clock -name clk -period 2.0000 [get_ports clk]
set_input_delay 0.4000 -clock clk [remove_from_collection [all_inputs] [get_ports clk]]
set_output_delay 0.4000 -clock clk [all_outputs]
