"""PAM: the processing unit, the reduction unit, the interface, and their compositions."""
