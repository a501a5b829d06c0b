"""A provider for tests."""

from hwprices.providers import About

ABOUT = About(title="Ledger Cloud", without_account="everything", with_credentials="nothing")
