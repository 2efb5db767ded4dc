"""How each vendor wants to be shown a key."""

from collections.abc import Mapping

from yarl import URL

from remanence.llm.vendors import Vendor

_ANTHROPIC_VERSION = "2023-06-01"


def key_headers(vendor: Vendor, base_url: str, api_key: str | None) -> Mapping[str, str] | None:
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
