"""The noise boundary: questions, answers, the curator protocol, released model and certificate."""
