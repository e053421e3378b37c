# pam-ru pam-hbm: target clock 666 MHz
create_clock -name clk -period 1.5015 [get_ports clk]
set_input_delay 0.3003 -clock clk [remove_from_collection [all_inputs] [get_ports clk]]
set_output_delay 0.3003 -clock clk [all_outputs]
