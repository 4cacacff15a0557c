"""Trees of cells: shapes, budgets, fits, points, bounds."""
