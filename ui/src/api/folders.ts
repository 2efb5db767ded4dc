/* Folders, the files in them, and what agents have open of them. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";

export interface Folder {
  id: string;
  name: string;
  description: string | null;
  instructions: string | null;
  created_at: string;
}

export interface FolderFile {
  id: string;
  file_name: string;
  file_size: number | null;
  processing_status: "pending" | "parsing" | "embedding" | "completed" | "error";
  error_message: string | null;
  total_chunks: number | null;
  chunks_embedded: number | null;
  created_at: string;
}

export interface AgentFile {
  id: string;
  file_id: string;
  file_name: string;
  folder_id: string;
  is_open: boolean;
  start_line: number | null;
  end_line: number | null;
}

const ASKING_MS = 700;

export function isInWork(file: FolderFile): boolean {
  return file.processing_status !== "completed" && file.processing_status !== "error";
}

export function foldersQuery() {
  return queryOptions({ queryKey: ["folders"], queryFn: () => ask<Folder[]>("GET", "/v1/folders/", { query: { limit: 1000 } }) });
}

export function folderQuery(id: string) {
  return queryOptions({ queryKey: ["folder", id], queryFn: () => ask<Folder>("GET", `/v1/folders/${id}`) });
}

/** Asked again and again while a file is being read. */
export function filesQuery(id: string) {
  return queryOptions({
    queryKey: ["folder", id, "files"],
    queryFn: () => ask<FolderFile[]>("GET", `/v1/folders/${id}/files`),
    refetchInterval: (query) => (query.state.data?.some(isInWork) ? ASKING_MS : false),
  });
}

export function readersQuery(id: string) {
  return queryOptions({ queryKey: ["folder", id, "agents"], queryFn: () => ask<string[]>("GET", `/v1/folders/${id}/agents`, { query: { limit: 200 } }), staleTime: 30_000 });
}

export function createFolder(given: { name: string; description: string | null }): Promise<Folder> {
  return ask("POST", "/v1/folders/", { body: given });
}

export function changeFolder(id: string, changes: Partial<Folder>): Promise<Folder> {
  return ask("PATCH", `/v1/folders/${id}`, { body: changes });
}

export function deleteFolder(id: string): Promise<unknown> {
  return ask("DELETE", `/v1/folders/${id}`);
}

export function uploadFile(id: string, file: File): Promise<FolderFile> {
  const form = new FormData();
  form.append("file", file);
  return ask("POST", `/v1/folders/${id}/upload`, { body: form });
}

export function deleteFile(id: string, fileId: string): Promise<unknown> {
  return ask("DELETE", `/v1/folders/${id}/${fileId}`);
}

export function attachFolder(agentId: string, id: string): Promise<unknown> {
  return ask("PATCH", `/v1/agents/${agentId}/folders/attach/${id}`);
}

export function detachFolder(agentId: string, id: string): Promise<unknown> {
  return ask("PATCH", `/v1/agents/${agentId}/folders/detach/${id}`);
}

export function agentFoldersQuery(agentId: string) {
  return queryOptions({ queryKey: ["agent", agentId, "folders"], queryFn: () => ask<Folder[]>("GET", `/v1/agents/${agentId}/folders`, { query: { order: "asc" } }) });
}

export function agentFilesQuery(agentId: string) {
  return queryOptions({ queryKey: ["agent", agentId, "files"], queryFn: () => ask<{ files: AgentFile[] }>("GET", `/v1/agents/${agentId}/files`, { query: { limit: 500, order: "asc" } }).then((page) => page.files) });
}

export function setOpen(agentId: string, fileId: string, isOpen: boolean): Promise<unknown> {
  return ask("PATCH", `/v1/agents/${agentId}/files/${fileId}/${isOpen ? "open" : "close"}`);
}
