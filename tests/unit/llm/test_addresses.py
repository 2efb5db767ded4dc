"""Base URLs in the shapes people type."""

import pytest

from remanence.errors import BadArgument
from remanence.llm.addresses import is_same_origin, normalise_base_url
from remanence.llm.clouds import Access, home_of
from remanence.llm.vendors import VENDORS, Vendor, get_vendor

OPENAI = "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("https://api.openai.com/v1", OPENAI),
        ("https://api.openai.com/v1/", OPENAI),
        ("https://api.openai.com", OPENAI),
        ("https://api.openai.com/", OPENAI),
        ("api.openai.com", OPENAI),
        ("  api.openai.com/v1 ", OPENAI),
        ("HTTPS://API.OpenAI.com/v1", OPENAI),
        ("https://api.openai.com/v1/chat/completions", OPENAI),
        ("https://api.openai.com/v1/models/", OPENAI),
        ("https://api.openai.com/v1?x=1#y", OPENAI),
        ("localhost:11434", "http://localhost:11434/v1"),
        ("localhost", "http://localhost/v1"),
        ("127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        ("192.168.1.5", "http://192.168.1.5/v1"),
        ("8.8.8.8", "https://8.8.8.8/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("gpu-box:8000", "http://gpu-box:8000/v1"),
        ("gpu-box", "http://gpu-box/v1"),
        ("proxy.example.com:443", "https://proxy.example.com/v1"),
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("https://proxy.example.com/llm", "https://proxy.example.com/llm"),
        ("https://proxy.example.com/llm/v1/", "https://proxy.example.com/llm/v1"),
        ("https://host.example/v1beta/openai/", "https://host.example/v1beta/openai"),
    ],
)
def test_every_shape_becomes_one_base_url(typed: str, expected: str) -> None:
    assert normalise_base_url(typed) == expected


@pytest.mark.parametrize(
    ("vendor", "typed"),
    [
        ("groq", "https://api.groq.com"),
        ("groq", "https://api.groq.com/v1"),
        ("groq", "https://api.groq.com/openai/"),
        ("openrouter", "openrouter.ai"),
        ("openrouter", "https://openrouter.ai/api"),
        ("zai", "https://api.z.ai/api"),
        ("deepseek", "https://api.deepseek.com"),
    ],
)
def test_a_path_that_stops_short_of_the_vendors_is_completed(vendor: str, typed: str) -> None:
    expected = get_vendor(vendor).base_url
    assert normalise_base_url(typed, default=expected) == expected


@pytest.mark.parametrize(
    ("vendor", "typed", "meant"),
    [
        ("anthropic", "https://proxy.example", "https://proxy.example/v1"),
        ("anthropic", "https://proxy.example/anthropic/", "https://proxy.example/anthropic/v1"),
        ("anthropic", "https://proxy.example/v1/messages", "https://proxy.example/v1"),
        ("google_ai", "https://proxy.example", "https://proxy.example/v1beta"),
        ("google_ai", "https://proxy.example/v1alpha", "https://proxy.example/v1alpha"),
        ("azure", "me.openai.azure.com", "https://me.openai.azure.com/openai/v1"),
        ("azure", "https://me.openai.azure.com/openai/", "https://me.openai.azure.com/openai/v1"),
    ],
)
def test_formats_whose_paths_have_a_version_get_it(vendor: str, typed: str, meant: str) -> None:
    known = get_vendor(vendor)
    assert normalise_base_url(typed, default=known.base_url, version=known.version) == meant


def test_another_path_on_the_vendors_host_is_kept() -> None:
    default = get_vendor("zai").base_url
    assert (
        normalise_base_url("https://api.z.ai/api/other/v9", default=default)
        == "https://api.z.ai/api/other/v9"
    )


@pytest.mark.parametrize(
    "vendor", [vendor for vendor in VENDORS if vendor.base_url], ids=lambda vendor: vendor.name
)
def test_the_vendors_own_base_urls_are_normal(vendor: Vendor) -> None:
    home = home_of(vendor, Access(region="here", project="mine"))
    assert normalise_base_url(home, default=home) == home


@pytest.mark.parametrize(
    "typed", ["", "   ", "ftp://host/v1", "http://", "https://host:notaport/v1", "file:///etc"]
)
def test_what_is_no_web_address_is_refused(typed: str) -> None:
    with pytest.raises(BadArgument):
        normalise_base_url(typed)


def test_a_key_may_follow_to_another_path_of_the_same_server_only() -> None:
    assert is_same_origin("https://api.openai.com/v1", "https://api.openai.com/v2")
    assert not is_same_origin("https://api.openai.com/v1", "http://api.openai.com/v1")
    assert not is_same_origin("https://api.openai.com/v1", "https://api.openai.com.evil.example/v1")
    assert not is_same_origin("http://localhost:1/v1", "http://localhost:2/v1")
