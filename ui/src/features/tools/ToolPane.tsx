/* One tool: its code with what the model sees of it, a trial run, packages, settings, and who uses it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { describe } from "@/api/errors";
import { sandboxWords, serverQuery } from "@/api/server";
import { changeTool, createTool, deleteTool, isYours, type Tool, toolUsersQuery } from "@/api/tools";
import { ConfirmButton } from "@/components/ConfirmButton";
import { Tabs } from "@/components/controls";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { PackageList, ToolSettings, ToolUsers } from "@/features/tools/ToolTabs";
import { TrialPane } from "@/features/tools/TrialPane";
import { type Draft, draftOf, fieldsOf, isSame, type SchemaState, useSchema } from "@/features/tools/useDraft";
import { showKeys, useKeys } from "@/lib/keys";
import { toast } from "@/lib/toasts";

const CodeEditor = lazy(() => import("@/components/CodeEditor"));
const LANGUAGES: Record<string, string> = { python: "Python", typescript: "TypeScript", javascript: "JavaScript" };
type Tab = "code" | "packages" | "settings" | "users";

export function ToolPane({ tool, language = "python" }: { tool: Tool | null; language?: string }) {
  const kept = useMemo(() => draftOf(tool, language), [tool, language]);
  const [draft, setDraft] = useState<Draft>(kept);
  const [tab, setTab] = useState<Tab>("code");
  const [cursor, setCursor] = useState<readonly [number, number]>([1, 1]);
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const canEdit = tool === null || isYours(tool);
  const seen = useSchema(draft.code, draft.language, tool?.json_schema ?? null, canEdit);
  const users = useQuery({ ...toolUsersQuery(tool?.id ?? ""), enabled: tool !== null });
  const isChanged = tool === null || !isSame(draft, kept);
  const save = useMutation({
    mutationFn: () => (tool ? changeTool(tool.id, fieldsOf(draft, seen.schema)) : createTool(fieldsOf(draft, seen.schema))),
    onSuccess: async (saved) => {
      await queries.invalidateQueries({ queryKey: ["tools"] });
      toast(`${saved.name} is saved.`);
      if (!tool) navigate(paths.tool(saved.id));
    },
    onError: (error) => toast(`Not saved. ${describe(error)}`, { tone: "bad", shownMs: 10_000 }),
  });
  const remove = useMutation({
    mutationFn: () => deleteTool(tool?.id ?? ""),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["tools"] });
      navigate(paths.tools);
      toast(`${tool?.name} is deleted.`);
    },
    onError: (error) => toast(`Not deleted. ${describe(error)}`, { tone: "bad" }),
  });
  const canSave = canEdit && isChanged && seen.error === null && !seen.isPending && !save.isPending;
  useKeys([{ group: "Tools", keys: "mod+s", label: "Save the tool", run: () => canSave && save.mutate() }]);
  return (
    <>
      <section className="main" aria-label="Editor">
        <div className="panebar">
          <h1 className="h2 mono cut">{seen.schema?.name ?? tool?.name ?? "new tool"}</h1>
          <span className="tag">{LANGUAGES[draft.language] ?? "schema only"}</span>
          {canEdit ? isChanged && <span className="tag acc">{tool ? "edited" : "new"}</span> : <span className="tag line"><Icon name="lock" size={12} />{tool?.tool_type === "external_mcp" ? "from an MCP server" : "built in"}</span>}
          <span className="end" />
          {tool && canEdit && <ConfirmButton className="btn sm quiet bad" question={users.data?.length ? `Take it from ${users.data.length} and delete?` : "Delete for good?"} disabled={remove.isPending} onConfirm={() => remove.mutate()}>Delete</ConfirmButton>}
          {tool && canEdit && isChanged && <button className="btn sm quiet" onClick={() => setDraft(kept)}>Discard</button>}
          {canEdit && <button className="btn sm primary" disabled={!canSave} onClick={() => save.mutate()}>{save.isPending ? "Saving…" : "Save"} <kbd>{showKeys("mod+s")}</kbd></button>}
        </div>
        <Tabs
          label="Of this tool"
          value={tab}
          onChange={setTab}
          tabs={[
            { id: "code", label: "Code" },
            { id: "packages", label: "Packages", count: draft.packages.length },
            { id: "settings", label: "Settings" },
            { id: "users", label: "Used by", count: users.data?.length ?? "" },
          ]}
        />
        <div className={`tabbody ${tab === "code" ? "" : "scroll"}`} role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`}>
          {tab === "code" && (draft.code || canEdit ? (
            <Suspense fallback={<Loading lines={4} />}>
              <CodeEditor key={tool?.id ?? "new"} label="Source code" value={draft.code} language={draft.language} readOnly={!canEdit} onChange={(code) => setDraft((now) => ({ ...now, code }))} onCursor={(line, column) => setCursor([line, column])} />
            </Suspense>
          ) : <p className="nocode dim">{tool?.tool_type === "external_mcp" ? "Its code is on the MCP server. The model sees the schema beside this." : "It is part of the server. The model sees the schema beside this."}</p>)}
          {tab === "packages" && <PackageList packages={draft.packages} language={draft.language} canEdit={canEdit} onChange={(packages) => setDraft((now) => ({ ...now, packages }))} />}
          {tab === "settings" && <ToolSettings tool={tool} settings={draft.settings} canEdit={canEdit} onChange={(settings) => setDraft((now) => ({ ...now, settings }))} />}
          {tab === "users" && <ToolUsers tool={tool} agents={users.data} />}
        </div>
        <StatusLine seen={seen} canEdit={canEdit} cursor={cursor} />
      </section>
      <TrialPane key={tool?.id ?? "new"} tool={tool} draft={draft} seen={seen} />
    </>
  );
}

function StatusLine({ seen, canEdit, cursor }: { seen: SchemaState; canEdit: boolean; cursor: readonly [number, number] }) {
  const server = useQuery(serverQuery);
  const level = server.data?.sandbox.level;
  return (
    <div className="status">
      {seen.error ? <span className="danger row cut" role="alert" title={seen.error}><Icon name="x" size={12} /><span className="cut">{seen.error}</span></span>
        : seen.isPending ? <span className="mut">Reading…</span>
        : canEdit && <span className="ok row"><Icon name="check" size={12} />Parses, schema is up to date</span>}
      {canEdit && <span className="mut nowrap at">Line {cursor[0]}, column {cursor[1]}</span>}
      {level && (
        <span className={`end row nowrap ${level === "limits" ? "warn" : ""}`} title={server.data?.sandbox.reason ?? "What holds the code in when it runs"}>
          <Icon name="shield" size={14} /><span className="cut">Sandbox: {sandboxWords(level)}</span>
        </span>
      )}
    </div>
  );
}
