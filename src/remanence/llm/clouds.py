"""Models that a cloud serves under its own rules: Amazon Bedrock and Google Vertex AI.

They speak the formats of others (Anthropic's, Google's, OpenAI's). Their own are the address, which names
a region, and the way to show who asks: a signature on every request, or a token that lives for an hour.
Their makers' packages, which know those ways, are imported on first use.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import quote

from yarl import URL

from remanence.errors import BadArgument, ModelUnavailable, ProviderAuth
from remanence.kit import json
from remanence.llm.transport import Sign
from remanence.llm.vendors import Format, Vendor

_GOOGLE_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


@dataclass(frozen=True, slots=True)
class Access:
    """What it takes to be let in, in plain values."""

    api_key: str | None = field(default=None, repr=False)
    access_key: str | None = field(default=None, repr=False)
    region: str | None = None
    project: str | None = None
    may_use_ours: bool = True
    """Whether the credentials of the machine may be used: never for what an organisation brought itself."""


def home_of(vendor: Vendor, access: Access) -> str:
    """The vendor's own address, with the customer's region and project in it. Raises `BadArgument`."""
    if vendor.cloud is None:
        return vendor.base_url
    if vendor.cloud == "google" and _is_plain_key(access.api_key):
        return "https://aiplatform.googleapis.com/v1/publishers"
    project = access.project or _project_of(access.api_key)
    wanted = {"region": access.region or "", "project": project or ""}
    missing = [name for name in wanted if f"{{{name}}}" in vendor.base_url and not wanted[name]]
    if missing:
        raise BadArgument(f"{vendor.name} needs a {' and a '.join(missing)}, or a base URL.")
    home = vendor.base_url.format(**{name: quote(value) for name, value in wanted.items()})
    return home.replace("https://global-", "https://")


def signer_of(vendor: Vendor, access: Access, base_url: str) -> Sign | None:
    """Who signs requests; None where the key goes as it is. Raises `BadArgument`."""
    match vendor.cloud:
        case "aws":
            if access.api_key and not access.access_key:
                return None  # Bedrock's own keys, which are bearer tokens
            region = access.region or _region_in(base_url)
            if not region:
                raise BadArgument(f"{vendor.name} needs a region.")
            if not access.access_key and not access.may_use_ours:
                raise BadArgument(f"{vendor.name} needs a key.")
            return AwsSigner(region, access.access_key, access.api_key)
        case "google":
            if _is_plain_key(access.api_key):
                return None
            if not access.api_key and not access.may_use_ours:
                raise BadArgument(f"{vendor.name} needs a key: that of a service account, as JSON.")
            return GoogleToken(access.api_key)
        case None:
            return None


@dataclass(frozen=True, slots=True)
class Hosting:
    """How a cloud serves Anthropic's format."""

    path: str
    version: str
    left_out: tuple[str, ...]
    """Of the body, because the path says it."""
    has_frames: bool = False
    """Answers come as Amazon's binary events (`aws_events.py`)."""


_ANTHROPIC = {
    "aws": Hosting(
        "/{model}/invoke-with-response-stream", "bedrock-2023-05-31", ("model", "stream"), has_frames=True
    ),
    "google": Hosting("/anthropic/models/{model}:streamRawPredict", "vertex-2023-10-16", ("model",)),
}


def hosting_of(vendor: Vendor) -> Hosting | None:
    return _ANTHROPIC[vendor.cloud] if vendor.cloud else None


def base_for(vendor: Vendor, base_url: str, format: Format) -> str:
    """Where a format is spoken at a cloud's address."""
    if vendor.cloud == "aws" and format == "chat":
        return f"{base_url.removesuffix('/model')}/openai/v1"
    return f"{base_url}/google" if vendor.cloud == "google" and format == "gemini" else base_url


@dataclass(frozen=True, slots=True)
class AwsSigner:
    """Signature version 4. Without keys of its own it uses those of the machine: variables, profile or role."""

    region: str
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)

    async def __call__(self, method: str, url: URL, body: bytes | None) -> Mapping[str, str]:
        return await asyncio.to_thread(self._sign, method, str(url), body)

    def _sign(self, method: str, url: str, body: bytes | None) -> Mapping[str, str]:
        if self.access_key and self.secret_key:
            credentials = _aws("credentials").Credentials(self.access_key, self.secret_key)
        else:
            credentials = _own_aws_credentials()
        request = _aws("awsrequest").AWSRequest(method=method, url=url, data=body or b"")
        _aws("auth").SigV4Auth(credentials, "bedrock", self.region).add_auth(request)
        return dict(request.headers)


@dataclass(frozen=True, slots=True)
class GoogleToken:
    """The token of a service account, or of the machine's own (application default) credentials."""

    account: str | None = field(default=None, repr=False)

    async def __call__(self, method: str, url: URL, body: bytes | None) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {await asyncio.to_thread(_google_token, self.account)}"}


@cache
def _module(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ModelUnavailable(f"This needs the extra `{extra}`: pip install 'remanence[{extra}]'") from error


def _aws(part: str) -> Any:
    return _module(f"botocore.{part}", "bedrock")


def _google(part: str) -> Any:
    return _module(f"google.{part}", "vertex")


@cache
def _own_aws_credentials() -> Any:
    found = _aws("session").get_session().get_credentials()
    if found is None:
        raise ProviderAuth("This machine has no AWS credentials: set AWS_ACCESS_KEY_ID or a profile.")
    return found


def _google_token(account: str | None) -> str:
    try:
        credentials = _google_credentials(account)
        if not credentials.valid:
            credentials.refresh(_google("auth.transport.requests").Request())
        return credentials.token
    except (_google("auth.exceptions").GoogleAuthError, ValueError) as error:
        raise ProviderAuth(f"Google gives no token: {error}") from error


@cache
def _google_credentials(account: str | None) -> Any:
    if account is None:
        return _google("auth").default(scopes=_GOOGLE_SCOPES)[0]
    accounts = _google("oauth2.service_account").Credentials
    return accounts.from_service_account_info(json.decode(account), scopes=_GOOGLE_SCOPES)


def _is_plain_key(api_key: str | None) -> bool:
    return bool(api_key) and not (api_key or "").lstrip().startswith("{")


def _project_of(account: str | None) -> str | None:
    if account is None or _is_plain_key(account):
        return None
    try:
        return json.decode(account).get("project_id")
    except ValueError:
        raise BadArgument("The key of the service account is not JSON.") from None


def _region_in(base_url: str) -> str | None:
    """`bedrock-runtime.eu-west-1.amazonaws.com` says where it is."""
    parts = (URL(base_url).host or "").split(".")
    return parts[1] if len(parts) > 3 and parts[-2] == "amazonaws" else None
