"""What an agent has of a file, on the wire."""

from typing import Any

from remanence.core.open_files import AgentFile


def agent_file_body(file: AgentFile, folder_name: str) -> dict[str, Any]:
    return {
        "id": file.id,
        "file_id": file.file_id,
        "file_name": file.name,
        "folder_id": file.folder_id,
        "folder_name": folder_name,
        "is_open": file.is_open,
        "last_accessed_at": file.last_accessed_at,
        "visible_content": file.view,
        "start_line": file.start_line,
        "end_line": file.end_line,
    }
