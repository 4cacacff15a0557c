"""The closed set of questions: a folder each, with type, sensitivity, answer and proof."""
