"""Commands that this extra adds to the command line; `lapwing.on_demand` names them."""
