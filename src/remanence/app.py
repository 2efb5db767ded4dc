"""The composition root: builds each part once and puts them together. It alone knows every class."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from sqlalchemy import Connection
from starlette.middleware.cors import CORSMiddleware

import remanence
from remanence.accounts import repository as accounts
from remanence.accounts.admin.endpoints import router as admin_routes
from remanence.accounts.audit import repository as audit
from remanence.accounts.audit.endpoints import router as audit_routes
from remanence.accounts.audit.service import AuditLog
from remanence.accounts.audit.watching import watcher
from remanence.accounts.auth import ActingUser, Auth
from remanence.accounts.keys import repository as keys
from remanence.accounts.keys.endpoints import router as key_routes
from remanence.accounts.keys.service import KeyRing
from remanence.accounts.limits import RateLimits
from remanence.accounts.sessions.endpoints import router as session_routes
from remanence.agents.conversations.endpoints import router as conversation_routes
from remanence.agents.endpoints import router as agent_routes
from remanence.agents.folders.endpoints import router as agent_folder_routes
from remanence.agents.of_identities import router as belonging_routes
from remanence.agents.service import AgentService
from remanence.agents.state import StateStore
from remanence.agents.tool_run import AgentToolRuns
from remanence.archives.endpoints import router as archive_routes
from remanence.archives.service import ArchiveService
from remanence.batches.endpoints import router as batch_routes
from remanence.batches.service import Batches
from remanence.core.budget import ContextLimits
from remanence.db.database import Database, open_database
from remanence.db.migrate import migrate
from remanence.edge.errors import install_error_handlers
from remanence.edge.interface import Interface
from remanence.edge.requests import RequestDoor
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.files import processing
from remanence.files.endpoints import router as folder_routes
from remanence.files.parsing.reading import ParseLimits
from remanence.files.processing import FileProcessing
from remanence.files.service import FileService
from remanence.groups.endpoints import router as group_routes
from remanence.groups.messaging import AgentMessenger
from remanence.groups.rounds import Rounds
from remanence.groups.service import Helpers
from remanence.groups.speaking import GroupSpeaker
from remanence.identities.endpoints import router as identity_routes
from remanence.jobs import repository as jobs
from remanence.jobs.endpoints import router as job_routes
from remanence.jobs.workers import Workers
from remanence.kit.addresses import is_no_metadata, is_public
from remanence.kit.clock import utc_now
from remanence.kit.ids import OrgId
from remanence.kit.vault import KEY_FILE, Vault
from remanence.llm.adapters import Adapters
from remanence.llm.catalogue import Catalogue
from remanence.llm.endpoints import router as model_routes
from remanence.llm.hosted import HostedSource, Provider
from remanence.llm.local.embedded import EmbeddedSource
from remanence.llm.local.embedding import LOCAL_EMBEDDING, find_weights
from remanence.llm.providers.endpoints import router as provider_routes
from remanence.llm.providers.service import ProviderService
from remanence.llm.registry import AdapterRegistry, EmbedderRegistry
from remanence.llm.transport import Transport
from remanence.llm.vendors import VENDORS
from remanence.memory import repository as blocks
from remanence.memory.endpoints import router as block_routes
from remanence.memory.history import router as revision_routes
from remanence.messages.endpoints import router as message_routes
from remanence.messages.images import ImageFetcher
from remanence.runs import repository as runs
from remanence.runs.background import Background
from remanence.runs.callback import Callbacks
from remanence.runs.chat.endpoints import router as chat_routes
from remanence.runs.checkpoint import Checkpoint
from remanence.runs.conversations import router as conversation_speech
from remanence.runs.endpoints import router as run_routes
from remanence.runs.event_log import EventLog
from remanence.runs.generating import router as generating_routes
from remanence.runs.housekeeping import Housekeeping
from remanence.runs.provenance import router as provenance_routes
from remanence.runs.repository import HeldRun
from remanence.runs.service import RunService
from remanence.runs.speaking import Speaker
from remanence.runs.spending.endpoints import router as spending_routes
from remanence.runs.spending.service import Spending
from remanence.runs.supervisor import Supervisor
from remanence.sandbox.endpoints import router as sandbox_routes
from remanence.sandbox.environments import Environments
from remanence.sandbox.runner import Sandbox, SandboxSettings
from remanence.schedules import repository as schedules
from remanence.schedules.endpoints import router as schedule_routes
from remanence.schedules.service import Scheduling
from remanence.search.embedding import BackgroundEmbedding
from remanence.search.ports import open_index
from remanence.search.service import Search
from remanence.settings import Settings
from remanence.templates.endpoints import router as template_routes
from remanence.tools import repository as tools
from remanence.tools.archival import ArchivalMemory
from remanence.tools.builtin.web import EXA_KEY, TAVILY_KEY, WebAccess, WebTools
from remanence.tools.callback import ToolClients
from remanence.tools.code import CodeTools
from remanence.tools.endpoints import router as tool_routes
from remanence.tools.executor import ToolExecutor
from remanence.tools.files import FileTools
from remanence.tools.mcp.endpoints import callback_router as mcp_callback_routes
from remanence.tools.mcp.endpoints import router as mcp_routes
from remanence.tools.mcp.legacy import router as older_mcp_routes
from remanence.tools.mcp.service import McpService
from remanence.tools.memory_past import MemoryPast
from remanence.tools.programs import Programs
from remanence.tools.recall import ConversationSearch
from remanence.tools.run_endpoints import router as tool_run_routes
from remanence.tools.voice import VoiceMemory
from remanence.tools.writing import ToolWriter
from remanence.tools.writing import router as writing_routes
from remanence.transfer.endpoints import router as transfer_routes

_JOB_DAYS = 30
"""How long jobs are listed after they are over."""
_LOOKED_FOR = ("ollama", "lmstudio_openai", "llamacpp")

if TYPE_CHECKING:
    from remanence.llm.local.source import LocalModels
    from remanence.templates.service import TemplateService
    from remanence.transfer.service import TransferService


def create_app(settings: Settings) -> FastAPI:
    """The server, ready to be run; databases and models are opened when it starts."""
    db = open_database(settings.database_url)
    house = _House(settings, db)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        await house.open()
        app.state.banner = house.banner()
        try:
            yield
        finally:
            await house.close()

    app = FastAPI(title="Remanence", version=remanence.__version__, lifespan=lifespan)
    app.state.auth = house.auth
    app.state.drain = house.drain
    app.add_middleware(RequestDoor, on_answer=watcher(house.audit.note))
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["x-request-id", "retry-after"],
        )
    install_error_handlers(app)
    for routes in (_health_routes(), *house.routes()):
        app.router.routes += routes.routes
    app.router.default = Interface(app.router.default)
    return app


class _House:
    def __init__(self, settings: Settings, db: Database) -> None:
        self._settings = settings
        self._started_at = utc_now()
        self._db = db
        password = settings.password.get_secret_value() if settings.password else None
        vault = self._vault = Vault.open(settings.dir)
        self._ring = KeyRing(db, vault.signing_key, password)
        self.auth = Auth(
            db,
            self._ring,
            password=password,
            signing_key=vault.signing_key,
            on_organization=self._furnish,
            limits=RateLimits(settings.requests_per_minute),
            cookie=f"remanence_{vault.key_id[:8]}",  # browsers do not tell ports apart
        )
        allows = is_no_metadata if settings.allows_private_targets else is_public
        self._transport = Transport(allows=allows)
        self.audit = AuditLog(db)
        adapters = Adapters(self._transport)
        self._local = _local_models(settings)
        self._hosted = _hosted_sources(settings, self._transport, adapters)
        self._found = _found_sources(settings, self._transport, adapters)
        sources = [*self._hosted, *self._found, EmbeddedSource(self._local)]
        self._providers = ProviderService(db, vault, self._transport, adapters)
        self._catalogue = Catalogue(sources, self._providers)
        self._adapters = AdapterRegistry(sources, adapters, self._providers, self._catalogue.resolve_llm)
        self._looking: asyncio.Task[None] | None = None
        self._index = index = open_index(db)
        self._search = search = Search(
            db, index, EmbedderRegistry(sources, self._transport, self._providers).embed
        )
        default_embedding = _default_embedding(settings)
        self._embedding = BackgroundEmbedding(db, index, search)
        self._archives = ArchiveService(
            db, index, search, self._catalogue, default_embedding=default_embedding
        )
        self._jobs = Workers(db)
        self._files = FileService(
            db, self._jobs, index, search, self._catalogue, default_embedding=default_embedding
        )
        reading = FileProcessing(
            db, index, ParseLimits(settings.file_timeout_s, settings.file_memory_mb << 20)
        )
        self._jobs.register(
            processing.KIND,
            reading.process,
            at_once=processing.AT_ONCE,
            on_failure=reading.give_up,
            on_end=processing.note_cancelled,
        )
        states = StateStore(db)
        checkpoint = Checkpoint(db, states, index, traces=settings.traces)
        self._supervisor = Supervisor(db, checkpoint)
        self._housekeeping = Housekeeping(
            db,
            [
                keys.drop_expired,
                partial(audit.drop_old, days=settings.audit_days),
                runs.drop_old_events,
                partial(jobs.drop_old, days=_JOB_DAYS),
                schedules.drop_finished,
                partial(runs.drop_old_traces, days=settings.trace_days),
                partial(
                    blocks.prune_revisions, count=settings.revisions_kept, days=settings.revisions_kept_days
                ),
            ],
        )
        self._spending = Spending(db)
        self._events = EventLog(db)
        callbacks = Callbacks(db, vault.signing_key, allows)
        self._background = Background(db, self._events, callbacks, self._supervisor.telling)
        self._agents = AgentService(
            db,
            self._catalogue,
            vault,
            index,
            default_model=self._default_model,
            default_embedding=default_embedding,
            evicted_share=settings.context_evicted_share,
        )
        self._mcp = McpService(
            db, vault, allows_local=settings.allows_local_mcp, call_timeout_s=settings.mcp_timeout_s
        )
        self._helpers = Helpers(self._agents)
        self._agents.household = self._helpers
        checkpoint.take_up = self._supervisor.take_up
        self._sandbox = _open_sandbox(settings)
        self._environments = Environments(self._sandbox.environments, keep_days=settings.sandbox_keep_days)
        url = settings.tool_client_url or f"http://127.0.0.1:{settings.port}"
        clients = ToolClients(vault.signing_key, url, settings.tool_client)
        code = CodeTools(db, vault, self._sandbox, self._environments, clients)
        self._executor = ToolExecutor(
            ConversationSearch(search),
            ArchivalMemory(self._archives),
            MemoryPast(db),
            self._mcp,
            code,
            Programs(db, code),
            WebTools(_web_access(settings)),
            FileTools(db, self._files),
            VoiceMemory(search, self._archives),
        )
        self._tool_runs = AgentToolRuns(db, self._executor, index)
        images = ImageFetcher(allows)
        self._runs = RunService(
            db,
            states,
            self._catalogue,
            self._adapters,
            self._executor,
            checkpoint,
            self._supervisor,
            images,
            self._spending,
            limits=ContextLimits(
                settings.context_warning_share, settings.context_full_share, settings.prompt_cache_s
            ),
            approval_expiry_s=settings.approval_expiry_s,
        )
        self._scheduling = Scheduling(
            db,
            images,
            self._supervisor.take_up,
            missed_runs=settings.missed_runs,
            grace_s=settings.missed_grace_s,
        )
        self._batches = Batches(
            db, self._jobs, self._supervisor, callbacks, images, at_once=settings.batch_at_once
        )
        self._executor.messenger = AgentMessenger(db, self._runs, self._background)
        self._rounds = Rounds(db, self._runs, self._supervisor, images)
        checkpoint.followers = (self._helpers, self._rounds)

    async def open(self) -> None:
        probing = asyncio.create_task(self._sandbox.find_level())
        await migrate(self._settings.database_url)
        await self._db.write(_furnish_everyone)
        await self._db.write(self._index.open)
        self._embedding.start()
        await self._events.start()
        self._supervisor.revive = self._carry_on
        self._supervisor.conclude = self._background.conclude
        await self._supervisor.sweep()
        self._supervisor.start()
        self._jobs.start()
        self._scheduling.start()
        self._housekeeping.start()
        self.audit.start()
        self._catalogue.start()
        self._looking = asyncio.create_task(self._prepare_local())
        level, reason = await probing
        self._fence = f"{level} ({reason})" if reason else level

    async def drain(self) -> None:
        """Ends what is running, in its own time or ours."""
        await self._supervisor.stop(self._settings.drain_s)

    async def close(self) -> None:
        await self._jobs.stop()
        await self._embedding.stop()
        await self._housekeeping.close()
        await self._scheduling.close()
        await self.drain()
        await self._background.close()
        if self._looking is not None:
            self._looking.cancel()
        await self._mcp.close()
        await self._catalogue.close()
        if self._local is not None:
            await self._local.close()
        await self._sandbox.close()
        await self._transport.close()
        await self.audit.close()
        await self._db.close()

    def routes(self) -> list[APIRouter]:
        """Matched in this order, so what is asked most comes first."""
        speaker = Speaker(self._db, self._runs, self._background)
        return [
            run_routes(self._db, self._runs, speaker, self._vault),
            conversation_speech(self._db, self._runs, speaker),
            agent_routes(self._db, self._agents, self._tool_runs),
            batch_routes(self._db, self._batches),  # before messages, whose ids they are not
            message_routes(self._db, self._search),
            conversation_routes(self._db, self._catalogue),
            block_routes(self._db),
            revision_routes(self._db),
            provenance_routes(self._db, self._index),
            archive_routes(self._db, self._archives),
            identity_routes(self._db),
            belonging_routes(self._db, self._agents),
            agent_folder_routes(self._db, self._agents),
            *folder_routes(self._db, self._files, max_bytes=round(self._settings.max_file_mb * (1 << 20))),
            group_routes(
                self._db,
                self._helpers,
                self._rounds,
                GroupSpeaker(self._db, self._rounds, self._background),
            ),
            schedule_routes(self._db, self._scheduling),
            transfer_routes(lambda: self._transfer),
            template_routes(self._db, lambda: self._templates),
            tool_routes(self._db),
            model_routes(self._catalogue, self._adapters),
            tool_run_routes(self._executor),
            chat_routes(self._db, self._runs),
            generating_routes(self._db, self._catalogue, self._adapters, self._spending),
            writing_routes(ToolWriter(self._catalogue, self._adapters, self._default_model)),
            sandbox_routes(self._db, self._vault, self._sandbox, self._environments),
            provider_routes(self._db, self._providers),
            mcp_routes(self._db, self._mcp, self._vault),
            mcp_callback_routes(self._mcp),
            older_mcp_routes(self._db, self._mcp, self._vault),
            spending_routes(self._db, self._spending),
            job_routes(self._db, self._jobs),
            key_routes(self._db, self._ring),
            session_routes(self.auth, self._ring),
            admin_routes(self._db, self.auth.forget),
            audit_routes(self._db),
            self.state_routes(),
        ]

    @cached_property
    def _transfer(self) -> "TransferService":
        """Loaded when it is first asked for."""
        from remanence.transfer.service import TransferService

        return TransferService(self._db, self._agents, self._catalogue, self._mcp, self._index, self._vault)

    @cached_property
    def _templates(self) -> "TemplateService":
        from remanence.templates.service import TemplateService

        return TemplateService(self._db, self._transfer)

    def state_routes(self) -> APIRouter:
        """What the server is, for whoever looks after it."""
        routes = make_routes("server")
        settings = self._settings

        @routes.get("/server/", operation_id="retrieve_server")
        async def state(actor: ActingUser) -> JsonBytes:
            level, reason = await self._sandbox.find_level()
            return JsonBytes(
                {
                    "version": remanence.__version__,
                    "started_at": self._started_at,
                    "database": {
                        "kind": "sqlite" if self._db.is_sqlite else "postgresql",
                        "description": self._db.description,
                    },
                    "default_model": self._default_model(),
                    "default_embedding": _default_embedding(settings),
                    "sandbox": {"level": level, "reason": reason or None},
                    "has_password": self.auth.is_on,
                    "traces": settings.traces,
                    "trace_days": settings.trace_days,
                    "revisions_kept": settings.revisions_kept,
                }
            )

        return routes

    def banner(self) -> list[tuple[str, str]]:
        return [
            ("Database", self._db.description),
            ("Model", self._default_model() or "none by default; name one per agent"),
            ("Sandbox", self._fence),
            ("Auth", "password" if self.auth.is_on else "off"),
        ]

    def _default_model(self) -> str | None:
        """The one that is set; else what runs on this machine, if no provider is set."""
        if self._settings.default_model is not None or self._hosted:
            return self._settings.default_model
        found = next((model.handle for source in self._found for model in source.models()), None)
        return found or (self._local.default_handle if self._local is not None else None)

    async def _prepare_local(self) -> None:
        """The embedded model's weights are large: they are fetched only where nothing else is at hand."""
        if self._found:
            await self._catalogue.list_models()  # waits a moment for those who are there
        if self._local is not None and self._default_model() == self._local.default_handle:
            self._local.start()

    async def _carry_on(self, found: HeldRun) -> None:
        revived = await self._runs.carry_on(found)
        if revived is not None and revived.sent.run.background:
            self._background.keep(revived.actor, revived.sent, revived.request, stored=revived.stored)

    async def _furnish(self, organization_id: OrgId) -> None:
        await self._db.write(tools.ensure_builtins, organization_id)


def _web_access(settings: Settings) -> WebAccess:
    given = {EXA_KEY: settings.exa_api_key, TAVILY_KEY: settings.tavily_api_key}
    keys = {name: key.get_secret_value() for name, key in given.items() if key is not None}
    return WebAccess(settings.fetch_private, keys, settings.exa_base_url, settings.tavily_base_url)


def _open_sandbox(settings: Settings) -> Sandbox:
    chosen = SandboxSettings(
        level=settings.sandbox_level,
        has_network=settings.sandbox_network,
        timeout_s=settings.sandbox_timeout_s,
        memory_bytes=settings.sandbox_memory_mb << 20,
    )
    hidden = [settings.dir / KEY_FILE]
    if settings.database_url.startswith("sqlite:///"):
        file = settings.database_url.removeprefix("sqlite:///")
        hidden += [Path(file + ending) for ending in ("", "-wal", "-shm")]
    return Sandbox(settings.dir / "sandbox", chosen, hidden=hidden)


def _furnish_everyone(connection: Connection) -> None:
    """The default actors, and the built-in tools of every organisation, as this version knows them."""
    accounts.ensure_defaults(connection)
    for organization_id in accounts.list_organization_ids(connection):
        tools.ensure_builtins(connection, organization_id)


def _local_models(settings: Settings) -> "LocalModels | None":
    """The embedded models, unless they are switched off or their engine is not installed."""
    if settings.local_model == "off":
        return None
    from remanence.llm.local.source import LocalModels, is_engine_installed

    if not is_engine_installed():
        return None
    return LocalModels(settings.dir / "models", which=settings.local_model)


def _default_embedding(settings: Settings) -> str | None:
    """None where search is to go by words alone, or the embedded model's weights are not installed."""
    handle = settings.default_embedding
    is_missing = handle == LOCAL_EMBEDDING.handle and find_weights() is None
    return None if handle.lower() in ("off", "none") or is_missing else handle


def _hosted_sources(settings: Settings, transport: Transport, adapters: Adapters) -> list[HostedSource]:
    """The providers that the settings give a key or an address for, in the order they are listed."""
    return [
        HostedSource(
            Provider(
                vendor.name,
                vendor.name,
                access.base_url,
                access.api_key.get_secret_value() if access.api_key else None,
                access_key=access.access_key.get_secret_value() if access.access_key else None,
                region=access.region,
                project=access.project,
            ),
            transport,
            adapters,
        )
        for vendor in VENDORS
        if (access := settings.providers.get(vendor.name)) is not None
        and (access.base_url or vendor.base_url)
    ]


def _found_sources(settings: Settings, transport: Transport, adapters: Adapters) -> list[HostedSource]:
    """Servers of models that may run on this machine, at their usual addresses."""
    if not settings.find_local_models:
        return []
    return [
        HostedSource(Provider(vendor.name, vendor.name, is_found=True), transport, adapters)
        for vendor in VENDORS
        if vendor.name in _LOOKED_FOR and vendor.name not in settings.providers
    ]


def _health_routes() -> APIRouter:
    """Never behind the password: machines ask here whether the server is up."""
    routes = make_routes("health")

    @routes.get("/health/")
    @routes.get("/ready/")
    async def health() -> JsonBytes:
        return JsonBytes({"version": remanence.__version__, "status": "ok"})

    return routes
