"""Routes that list the models and embedding models that can be asked for."""

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from remanence.accounts.auth import ActingUser
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.llm.catalogue import Catalogue
from remanence.llm.prices import load_rates
from remanence.llm.probe import Probe
from remanence.llm.registry import AdapterRegistry
from remanence.llm.schemas import embedding_model_out, model_out, rates_out
from remanence.llm.vendors import find_vendor


def router(catalogue: Catalogue, adapters: AdapterRegistry) -> APIRouter:
    routes = make_routes("models", under="/models")

    @routes.get("/", operation_id="list_models")
    async def list_models(
        actor: ActingUser,
        provider_category: Annotated[list[Literal["base", "byok"]] | None, Query()] = None,
        provider_name: str | None = None,
        provider_type: str | None = None,
    ) -> Response:
        models = await catalogue.list_models(actor.organization_id)
        return JsonBytes(
            [
                model_out(model)
                for model in models
                if (not provider_category or model.provider_category in provider_category)
                and provider_name in (None, model.provider_name)
                and provider_type in (None, model.provider_type)
            ]
        )

    @routes.get("/embedding", operation_id="list_embedding_models")
    async def list_embedding_models(actor: ActingUser) -> Response:
        models = await catalogue.list_embeddings(actor.organization_id)
        return JsonBytes([embedding_model_out(model) for model in models])

    @routes.get("/prices", operation_id="list_model_prices")
    async def list_prices(actor: ActingUser) -> Response:
        """By handle, for those models that the table of prices knows."""
        models = await catalogue.list_models(actor.organization_id)
        vendors = {model.handle: find_vendor(model.provider_type) for model in models}
        named = {
            model.handle: (vendor.prices, model.name)
            for model in models
            if (vendor := vendors[model.handle]) is not None and vendor.prices is not None
        }
        return JsonBytes({handle: rates_out(rates) for handle, rates in (await load_rates(named)).items()})

    @routes.post("/{handle:path}/probe", operation_id="probe_model")
    async def probe_model(actor: ActingUser, handle: str) -> Response:
        config = await catalogue.resolve_llm(handle, actor.organization_id)
        stream = partial(adapters.stream, organization_id=actor.organization_id)
        return JsonBytes((await Probe(config, stream).run()).body(handle))

    return routes
