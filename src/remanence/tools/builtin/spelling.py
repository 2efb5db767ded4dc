"""Argument names that models learned from earlier versions of the memory tools.

Such a call means the same, so it is renamed before it is checked, not refused.
"""

from collections.abc import Mapping

from remanence.kit.json import JsonObject

_LABEL = ("block_label", "target_block_label", "name")
_OLD = ("old_str", "old_content", "old_string")
_NEW = ("new_str", "new_content", "new_string")

_OTHER_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "archival_memory_insert": {"content": ("text", "memory")},
    "archival_memory_search": {
        "top_k": ("limit",),
        "start_datetime": ("start_date",),
        "end_datetime": ("end_date",),
    },
    "core_memory_append": {"label": _LABEL, "content": (*_NEW, "text")},
    "core_memory_replace": {"label": _LABEL, "old_content": _OLD, "new_content": _NEW},
    "memory_replace": {"label": _LABEL, "old_string": _OLD, "new_string": _NEW},
    "memory_insert": {"label": _LABEL, "new_string": (*_NEW, "insert_text", "content")},
    "memory_rethink": {"label": _LABEL, "new_memory": (*_NEW, "content")},
    "memory_apply_patch": {"label": _LABEL, "patch": ("diff",)},
    "memory": {
        "path": ("label", *_LABEL),
        "file_text": ("content", "value"),
        "old_string": _OLD,
        "new_string": _NEW,
        "new_path": ("new_label",),
        "old_path": ("old_label",),
    },
}


def canonical_arguments(tool_name: str, args: JsonObject) -> JsonObject:
    """The arguments under the names of the tool's schema; those of other tools are left as they are."""
    other_names = _OTHER_NAMES.get(tool_name)
    if not other_names:
        return args
    renamed = dict(args)
    for name, others in other_names.items():
        for other in others:
            if name not in renamed and other in renamed:
                renamed[name] = renamed.pop(other)
    return renamed
