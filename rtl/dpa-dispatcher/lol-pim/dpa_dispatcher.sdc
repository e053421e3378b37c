# dpa-dispatcher lol-pim: target clock 1000 MHz
create_clock -name clk -period 1.0000 [get_ports clk]
set_input_delay 0.2000 -clock clk [remove_from_collection [all_inputs] [get_ports clk]]
set_output_delay 0.2000 -clock clk [all_outputs]
