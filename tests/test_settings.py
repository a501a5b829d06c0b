"""Settings: from the environment or flags, refused in one line."""

from datetime import timedelta

import pytest

from hwprices.errors import HwpricesError
from hwprices.settings import load


def test_the_environment_is_read_and_flags_go_over_it(monkeypatch):
    monkeypatch.setenv("HWPRICES_ROOT", "s3://bucket/x")
    monkeypatch.setenv("HWPRICES_READ_TIMEOUT", "12.5")
    monkeypatch.setenv("HWPRICES_AZURE_CURRENCIES", "usd, eur")
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", "00000000-0000-0000-0000-000000000000")
    settings = load(source="live", root=None)
    assert (settings.root, settings.source) == ("s3://bucket/x", "live")
    assert settings.read_timeout == timedelta(seconds=12.5)
    assert settings.azure_currencies == ("USD", "EUR")
    assert settings.azure_subscription_id == "00000000-0000-0000-0000-000000000000"
    assert load(root="elsewhere").root == "elsewhere"


def test_the_key_is_never_shown(monkeypatch):
    monkeypatch.setenv("HWPRICES_GCP_API_KEY", "SECRET-KEY")
    settings = load()
    assert (
        "SECRET-KEY" not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()
    )
    assert settings.gcp_api_key.get_secret_value() == "SECRET-KEY"


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("HWPRICES_AWS_PRICE_LIST_URL", "http://pricing.example", "is not https"),
        ("HWPRICES_AZURE_ARM_URL", "https://user:pw@arm.example", "must not carry a user name"),
        ("HWPRICES_ROOT", "ftp://x", "neither a folder nor one of"),
        ("HWPRICES_SOURCE", "mock", "'sample' or 'live'"),
        ("HWPRICES_ATTEMPTS", "0", "greater than or equal to 1"),
        ("HWPRICES_READ_TIMEOUT", "soon", "duration"),
    ],
)
def test_what_does_not_fit_is_one_line_that_names_the_variable(monkeypatch, variable, value, says):
    monkeypatch.setenv(variable, value)
    with pytest.raises(HwpricesError) as raised:
        load()
    assert str(raised.value).startswith(f"{variable}: ")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_loopback_may_be_plain():
    assert (
        load(aws_price_list_url="http://127.0.0.1:9999/").aws_price_list_url
        == "http://127.0.0.1:9999"
    )
