"""Who acts: a user in an organisation. Every query is bound to one."""

from remanence.core.frozen import Frozen
from remanence.kit.ids import OrgId, UserId


class Actor(Frozen):
    user_id: UserId
    organization_id: OrgId
