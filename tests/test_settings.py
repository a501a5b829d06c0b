"""Check settings: read from the environment or flags, and refused in one line."""

import pytest

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.providers import aws, azure, gcp
from hwprices.settings import Settings, extend, load, load_as
from tests.helpers.cases import cases


def load_everything() -> None:
    """Load the common settings and those of each provider."""
    for name in providers.names():
        providers.get(name).settings(load())


def test_flags_override_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWPRICES_ROOT", "s3://bucket/x")
    monkeypatch.setenv("HWPRICES_READ_TIMEOUT", "12.5")
    monkeypatch.setenv("HWPRICES_AZURE_CURRENCIES", "usd, eur")
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", "00000000-0000-0000-0000-000000000000")
    settings = load_as(azure.Settings, source="live", root=None)
    assert (settings.root, settings.source) == ("s3://bucket/x", "live")
    assert settings.read_timeout == 12.5
    assert settings.azure_currencies == ("USD", "EUR")
    assert settings.azure_subscription_id == "00000000-0000-0000-0000-000000000000"
    assert load(root="elsewhere").root == "elsewhere"


def test_the_api_key_is_in_no_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWPRICES_GCP_API_KEY", "SECRET-KEY")
    settings = load_as(gcp.Settings)
    shown = repr(settings) + str(settings.model_dump()) + settings.model_dump_json()
    assert "SECRET-KEY" not in shown
    assert settings.gcp_api_key.get_secret_value() == "SECRET-KEY"


@cases("settings/bad_values")
def test_a_bad_value_is_one_line_that_names_the_variable(monkeypatch, variable, value, problem):
    monkeypatch.setenv(variable, value)
    with pytest.raises(HwpricesError) as raised:
        load_everything()
    assert str(raised.value).startswith(f"{variable}: ")
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_plain_http_is_accepted_for_this_machine() -> None:
    settings = load_as(aws.Settings, aws_price_list_url="http://127.0.0.1:9999/")
    assert settings.aws_price_list_url == "http://127.0.0.1:9999"


def test_a_provider_adds_its_own_settings_to_the_common_ones(monkeypatch) -> None:
    monkeypatch.setenv("HWPRICES_GCP_PROJECT", "a-project")
    common = load(root="elsewhere", source="live", attempts=2)
    settings = extend(common, gcp.Settings)
    assert (settings.root, settings.source, settings.attempts) == ("elsewhere", "live", 2)
    assert settings.gcp_project == "a-project"
    assert extend(settings, gcp.Settings) is settings
    assert not hasattr(common, "gcp_project")


def test_names_of_a_providers_settings_begin_with_its_name() -> None:
    for name in providers.names():
        own = set(providers.get(name).settings_class.model_fields) - set(Settings.model_fields)
        assert all(field.startswith(f"{name}_") for field in own), name
