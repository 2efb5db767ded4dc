"""The route that runs a source once, and keeps nothing of it."""

from fastapi import APIRouter

from remanence.accounts.auth import ActingUser
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.kit.clock import utc_now
from remanence.tools import service
from remanence.tools.code import Caller
from remanence.tools.executor import ToolExecutor, run_once_body
from remanence.tools.schemas import ToolRun


def router(executor: ToolExecutor) -> APIRouter:
    routes = make_routes("tools", under="/tools")

    @routes.post("/run", operation_id="run_tool_from_source")
    async def run_tool_from_source(actor: ActingUser, body: ToolRun) -> JsonBytes:
        tool = service.unsaved_tool(actor, body)
        result = await executor.run_once(tool, body.args, Caller(actor, env=body.env_vars or {}))
        return JsonBytes(run_once_body(body.name, result, utc_now()))

    return routes
