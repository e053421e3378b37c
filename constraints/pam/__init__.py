"""PAM: the processing unit, the reduction unit, the interface, and what is composed of them."""
