"""The mechanisms, and the closed registry that makes a survey into one of them."""
