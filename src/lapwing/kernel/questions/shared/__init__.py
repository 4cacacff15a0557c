"""What several questions share: trees of cells, coordinates, projections, events of Laplace noise."""
