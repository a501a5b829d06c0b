"""Answer the everyday questions about prices: which offers, which machine, which regions."""
