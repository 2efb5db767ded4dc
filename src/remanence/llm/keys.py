"""Where a provider is, and how it is shown who asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from yarl import URL

from remanence.llm.transport import Endpoint, Sign, make_endpoint
from remanence.llm.vendors import Vendor

_ANTHROPIC_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Site:
    vendor: Vendor
    base_url: str
    """A normalised one (`addresses.py`)."""
    api_key: str | None = field(repr=False)
    provider: str
    """What it is called in errors."""
    sign: Sign | None = field(default=None, repr=False)
    is_foreign: bool = False
    """A user wrote this address into a configuration; it is none of those that this server was given."""

    def endpoint(self, url: str, *, pulse: str | None = None) -> Endpoint:
        return make_endpoint(
            url,
            provider=self.provider,
            api_key=self.api_key,
            extra=_key_headers(self.vendor, self.base_url, self.api_key),
            pulse=pulse,
            sign=self.sign,
            is_foreign=self.is_foreign,
        )


def _key_headers(vendor: Vendor, base_url: str, api_key: str | None) -> Mapping[str, str] | None:
    """The headers with the key; None where it goes as a bearer token."""
    match vendor.format:
        case "anthropic":
            headers = {"anthropic-version": _ANTHROPIC_VERSION}
            if api_key:
                headers["x-api-key"] = api_key
                # Others who speak the format may want the key as everybody else does.
                if URL(base_url).host != "api.anthropic.com":
                    headers["Authorization"] = f"Bearer {api_key}"
            return headers
        case "gemini":
            return {"x-goog-api-key": api_key} if api_key else {}
        case _:
            if vendor.key_header is None:
                return None
            return {vendor.key_header: api_key} if api_key else {}
