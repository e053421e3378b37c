# fp-compare bf16: target clock 500 MHz
create_clock -name clk -period 2.0000
set_input_delay 0.4000 -clock clk [all_inputs]
set_output_delay 0.4000 -clock clk [all_outputs]
