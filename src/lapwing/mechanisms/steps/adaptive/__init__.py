"""What `lapwing.mechanisms.adaptive` is made of: how the budget is divided, what competes, and the fit in between."""
