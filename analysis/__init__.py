"""The analysis stage: run records -> statistics, tables, figures, report. Never imports torch."""
