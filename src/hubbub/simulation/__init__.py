"""Simulated crowds: what a survey would find with n people at some epsilon."""
