"""Ask-and-solve steps that mechanisms share."""
