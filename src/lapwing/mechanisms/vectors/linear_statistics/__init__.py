"""LinearStatistics: chosen statistics, each with a certified error."""
