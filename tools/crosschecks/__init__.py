"""Comparisons of the sample and of the sheets with figures that others collected."""
