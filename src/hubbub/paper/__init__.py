"""The paper as an experiment: every claim that can be measured, as cells that run independently of each other."""
