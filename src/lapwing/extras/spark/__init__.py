"""Tables that Spark holds: its executors code and count the rows, and draw synthetic ones from the released model.

In: a Spark frame, questions about codes. Out: counts; synthetic rows as a Spark frame. Trusted, as it sees cells.
"""
