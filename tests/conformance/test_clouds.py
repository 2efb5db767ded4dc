"""Models in the clouds of Amazon and Google: other makers' formats, signed as each cloud wants it."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web
from anthropic.lib.bedrock import AsyncAnthropicBedrock
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from tests.support.requests import config, message, request, tool
from tests.support.script import Line
from tests.support.scripted_model import ScriptedModel, SeenRequest, calls, says, sends, thinks
from tests.support.wire_clouds import CLOUDS, Bedrock, aws_frame

from remanence.core.llm import Delta, ModelRequest, TextDelta, ToolCallDelta
from remanence.errors import BadArgument, BadReply, RateLimited
from remanence.kit import json
from remanence.llm.adapters import Adapters
from remanence.llm.hosted import HostedSource, Provider
from remanence.llm.transport import Transport
from remanence.llm.vendors import read_variables

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SECRET = "aws-secret"


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel(CLOUDS) as model:
        yield model


@pytest.fixture
def source(model: ScriptedModel, transports: Callable[..., Transport]) -> Callable[..., HostedSource]:
    def make(vendor: str, path: str = "", **fields: Any) -> HostedSource:
        base_url = f"http://127.0.0.1:{model.port}{path}"
        transport = transports()
        return HostedSource(Provider(vendor, vendor, base_url, **fields), transport, Adapters(transport))

    return make


async def ask(source: HostedSource, asked: ModelRequest) -> list[Delta]:
    adapter = source.adapter(asked.config)
    return [delta async for batch in adapter.stream(asked) for delta in batch]


def talk(name: str) -> ModelRequest:
    ours = config(name, handle=f"cloud/{name}", provider_category="base", max_tokens=500)
    return request(
        message("system", "Be kind."), message("user", "Hi"), config=ours, tools=[tool("look", at="string")]
    )


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def signature_of(seen: SeenRequest, region: str) -> str:
    """By the words of Amazon's manual, with nothing of its code."""
    named = {name.lower(): value for name, value in seen.headers.items()}
    signed = named["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    canonical = "\n".join(
        (
            "POST",
            quote(quote(seen.path, safe="/:"), safe="/~"),
            "",
            *(f"{name}:{named[name]}" for name in signed.split(";")),
            "",
            signed,
            hashlib.sha256(json.encode(seen.body)).hexdigest(),
        )
    )
    moment = named["x-amz-date"]
    scope = f"{moment[:8]}/{region}/bedrock/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}"
    return hmac.new(key, text.encode(), "sha256").hexdigest()


async def test_bedrock_is_asked_with_a_signature_over_the_whole_request(
    model: ScriptedModel, source: Callable[..., HostedSource]
) -> None:
    bedrock = source("bedrock", api_key=SECRET, access_key="AKID", region="eu-west-1")
    model.script(thinks("Hm.", signature="sig") + says("Grüße.") + calls("look", at="tea"))
    deltas = await ask(bedrock, talk(CLAUDE))
    assert text_of(deltas) == "Grüße."
    [name] = [delta.name for delta in deltas if isinstance(delta, ToolCallDelta) and delta.name]
    assert name == "look"
    seen = model.last
    assert seen.path == f"/model/{CLAUDE}/invoke-with-response-stream"
    assert seen.body["anthropic_version"] == "bedrock-2023-05-31"
    assert not {"model", "stream"} & seen.body.keys()
    said = seen.headers["Authorization"]
    assert said.startswith("AWS4-HMAC-SHA256 Credential=AKID/")
    assert said.endswith(f"Signature={signature_of(seen, 'eu-west-1')}")
    assert SECRET not in str(seen.headers)


async def test_bedrock_takes_keys_of_its_own_and_speaks_openais_format_for_other_models(
    model: ScriptedModel, source: Callable[..., HostedSource]
) -> None:
    bedrock = source("bedrock", api_key="bedrock-key", region="eu-west-1")
    model.script(says("Hi."), says("Hi."))
    for name in (CLAUDE, "openai.gpt-oss-120b-1:0"):
        assert text_of(await ask(bedrock, talk(name))) == "Hi."
    assert [seen.headers["Authorization"] for seen in model.journal] == ["Bearer bedrock-key"] * 2
    assert model.last.path == "/openai/v1/chat/completions"
    assert model.last.body["model"] == "openai.gpt-oss-120b-1:0"


async def test_amazons_client_reads_our_script_and_asks_as_we_do(
    model: ScriptedModel, source: Callable[..., HostedSource]
) -> None:
    bedrock = source("bedrock", api_key="bedrock-key", region="eu-west-1")
    model.script(says("Hi."), says("Hi."))
    await ask(bedrock, talk(CLAUDE))
    ours = model.last
    client = AsyncAnthropicBedrock(
        api_key="bedrock-key", aws_region="eu-west-1", base_url=f"http://127.0.0.1:{model.port}"
    )
    body = {name: value for name, value in ours.body.items() if name != "anthropic_version"}
    extra = {name: body.pop(name) for name in ("temperature",) if name in body}
    made: Any = client.messages.create
    events = [each async for each in await made(model=CLAUDE, stream=True, extra_body=extra, **body)]
    await client.close()
    assert [each.delta.text for each in events if each.type == "content_block_delta"] == ["Hi."]
    # The client names the newest version; what Amazon documents goes on holding.
    assert model.last.path == ours.path
    assert model.last.body | {"anthropic_version": ours.body["anthropic_version"]} == ours.body


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
async def test_amazons_events_may_be_cut_at_any_byte(
    model: ScriptedModel, source: Callable[..., HostedSource], at_once: int
) -> None:
    seen = SeenRequest({}, {}, "", [], [], "")
    whole = b"".join(Bedrock().frames(says("Grüße 😀\n\ndata: x"), seen, 1))
    model.script(sends(*(whole[at : at + at_once] for at in range(0, len(whole), at_once))))
    bedrock = source("bedrock", api_key="bedrock-key", region="eu-west-1")
    assert text_of(await ask(bedrock, talk(CLAUDE))) == "Grüße 😀\n\ndata: x"


@pytest.mark.parametrize(
    ("line", "tries", "expected"),
    [
        (
            sends(
                aws_frame(
                    {"message": "Slow down"}, message_type="exception", exception_type="throttlingException"
                )
            ),
            3,
            RateLimited,
        ),
        (sends(aws_frame({"bytes": ""}, event_type="chunk")[:-1] + b"\x00"), 1, BadReply),
        (sends(b"\x00\x00\x00\x01\x00\x00\x00\x00abcdefgh"), 1, BadReply),
    ],
    ids=["throttled", "garbled", "nonsense"],
)
async def test_amazons_failures_are_told(
    model: ScriptedModel,
    source: Callable[..., HostedSource],
    line: Line,
    tries: int,
    expected: type[Exception],
) -> None:
    model.script(*[line] * tries)
    with pytest.raises(expected):
        await ask(source("bedrock", api_key="bedrock-key", region="eu-west-1"), talk(CLAUDE))


@pytest.fixture
async def account() -> AsyncIterator[tuple[str, list[str]]]:
    """The key of a service account, and the assertions with which tokens were asked for."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    asked: list[str] = []

    async def give(request: web.Request) -> web.Response:
        claim = str((await request.post())["assertion"])
        signed, _, signature = claim.rpartition(".")
        key.public_key().verify(
            base64.urlsafe_b64decode(signature + "=="), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
        )
        asked.append(claim)
        return web.json_response({"access_token": "ya29.token", "expires_in": 3600, "token_type": "Bearer"})

    app = web.Application()
    app.router.add_post("/token", give)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    yield (
        json.encode_text(
            {
                "type": "service_account",
                "project_id": "garden",
                "private_key": pem.decode(),
                "client_email": "robot@garden.example",
                "token_uri": f"http://127.0.0.1:{runner.addresses[0][1]}/token",
            }
        ),
        asked,
    )
    await runner.cleanup()


async def test_vertex_is_asked_with_a_token_that_is_fetched_once(
    model: ScriptedModel, source: Callable[..., HostedSource], account: tuple[str, list[str]]
) -> None:
    key, tokens = account
    path = "/v1/projects/garden/locations/europe-west1/publishers"
    vertex = source("google_vertex", path, api_key=key)
    model.script(says("Hi."), says("Hi."))
    for name in ("gemini-2.5-flash", "claude-sonnet-4-5@20250929"):
        assert text_of(await ask(vertex, talk(name))) == "Hi."
    assert [seen.path.removeprefix(path) for seen in model.journal] == [
        "/google/models/gemini-2.5-flash:streamGenerateContent",
        "/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
    ]
    assert [seen.headers["Authorization"] for seen in model.journal] == ["Bearer ya29.token"] * 2
    assert model.last.body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in model.last.body
    assert len(tokens) == 1


def made(vendor: str, **fields: Any) -> HostedSource:
    transport = Transport()
    return HostedSource(Provider("mine", vendor, **fields), transport, Adapters(transport))


def test_a_region_makes_an_address() -> None:
    bedrock = made("bedrock", api_key="k", region="eu-west-1")
    assert bedrock.base_url == "https://bedrock-runtime.eu-west-1.amazonaws.com/model"
    vertex = made("google_vertex", project="garden", region="europe-west1")
    root = "https://europe-west1-aiplatform.googleapis.com/v1/projects/garden/locations/europe-west1"
    assert vertex.base_url == f"{root}/publishers"
    assert made("google_vertex", project="garden", region="global").base_url.startswith(
        "https://aiplatform.googleapis.com/v1/projects/garden/locations/global/"
    )
    assert made("google_vertex", api_key="AIza").base_url == "https://aiplatform.googleapis.com/v1/publishers"


@pytest.mark.parametrize(
    ("vendor", "fields"),
    [
        ("bedrock", {"api_key": "k"}),
        ("bedrock", {"region": "eu-west-1", "category": "byok"}),
        ("google_vertex", {"region": "europe-west1"}),
        ("google_vertex", {"region": "r", "project": "p", "category": "byok"}),
        ("google_vertex", {"region": "r", "api_key": "{nonsense", "category": "byok"}),
    ],
)
def test_what_is_missing_is_told(vendor: str, fields: Any) -> None:
    """The machine's own credentials are never lent to what an organisation brought itself."""
    with pytest.raises(BadArgument):
        made(vendor, **fields)


def test_a_region_alone_turns_nothing_on() -> None:
    assert read_variables({"AWS_REGION": "eu-west-1", "GOOGLE_CLOUD_PROJECT": "garden"}) == {}
    keys = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "eu-west-1"}
    assert read_variables(keys) == {"bedrock": {"access_key": "AKID", "api_key": "s", "region": "eu-west-1"}}
    assert read_variables({**keys, "AWS_BEARER_TOKEN_BEDROCK": "t"}) == {
        "bedrock": {"api_key": "t", "region": "eu-west-1"}
    }
