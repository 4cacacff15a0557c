"""One file for each question, named as its folder in the kernel: its answer computed again, and cases to ask it."""
