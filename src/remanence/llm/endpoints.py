"""Routes that list the models and embedding models that can be asked for."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from remanence.accounts.auth import ActingUser
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.llm.catalogue import Catalogue
from remanence.llm.schemas import embedding_model_out, model_out


def router(catalogue: Catalogue) -> APIRouter:
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

    return routes
