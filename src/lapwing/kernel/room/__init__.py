"""The room where rows are counted: opened for one run, it debits, draws, records and answers."""
