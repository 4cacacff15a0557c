"""The rooms of the studio, in the order of the job."""
