import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { type Agent, searchAgents } from "@/api/agents";
import { ask } from "@/api/client";
import { attachTool, type Package, type Tool } from "@/api/tools";
import { NumberField, Select, Switch } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import type { Draft } from "@/features/tools/useDraft";

export function PackageList({ packages, language, canEdit, onChange }: { packages: Package[]; language: string; canEdit: boolean; onChange: (next: Package[]) => void }) {
  const [text, setText] = useState("");
  const add = () => {
    const found = /^(@?[^@=\s]+)(?:==?|@)?(.*)$/.exec(text.trim());
    if (!found?.[1]) return;
    onChange([...packages.filter((each) => each.name !== found[1]), { name: found[1], version: found[2]?.trim() || null }]);
    setText("");
  };
  const registry = language === "python" ? "PyPI" : "npm";
  return (
    <div className="tabform">
      <p className="dim">Packages from {registry}, installed once and kept apart from the server's own.</p>
      <ul className="plainlist">
        {packages.map((each) => (
          <li key={each.name}><code>{each.name}</code><span className="mut mono small">{each.version ?? "any version"}</span>{canEdit && <button className="icon sm end" aria-label={`Remove ${each.name}`} onClick={() => onChange(packages.filter((other) => other !== each))}><Icon name="x" size={12} /></button>}</li>
        ))}
        {!packages.length && <li className="mut">None: the standard library only.</li>}
      </ul>
      {canEdit && (
        <form className="row" onSubmit={(event) => { event.preventDefault(); add(); }}>
          <label className="field"><input className="mono" aria-label="Package" placeholder={language === "python" ? "httpx==0.28.1" : "dayjs@1.11.13"} value={text} onChange={(event) => setText(event.target.value)} /></label>
          <button className="btn" disabled={!text.trim()}>Add</button>
        </form>
      )}
    </div>
  );
}

export function ToolSettings({ tool, settings, canEdit, onChange }: { tool: Tool | null; settings: Draft["settings"]; canEdit: boolean; onChange: (next: Draft["settings"]) => void }) {
  return (
    <div className="tabform">
      <div className="pair wide"><span>Ask before it runs <span className="meta">an agent may set its own rule</span></span><Switch label="Ask before it runs" checked={settings.default_requires_approval ?? false} disabled={!canEdit} onChange={(on) => onChange({ ...settings, default_requires_approval: on })} /></div>
      <div className="pair wide"><span>May run beside other calls <span className="meta">when the model makes several at once</span></span><Switch label="May run beside other calls" checked={settings.enable_parallel_execution} disabled={!canEdit} onChange={(on) => onChange({ ...settings, enable_parallel_execution: on })} /></div>
      <div className="pair wide"><span>Longest return <span className="meta">what is longer is cut, and the model told so</span></span>{canEdit ? <NumberField label="Longest return" value={settings.return_char_limit} min={1} max={1_000_000} unit="characters" onSave={(next) => onChange({ ...settings, return_char_limit: next ?? 50_000 })} /> : <span className="num">{settings.return_char_limit}</span>}</div>
      {tool && <div className="pair wide"><span>Tags</span><span className="chips">{tool.tags.length ? tool.tags.map((each) => <span key={each} className="tag">{each}</span>) : <span className="mut">none</span>}</span></div>}
      {tool && <div className="pair wide"><span>Id</span><code className="small cut">{tool.id}</code></div>}
    </div>
  );
}

export function ToolUsers({ tool, agents }: { tool: Tool | null; agents: Agent[] | undefined }) {
  const queries = useQueryClient();
  const all = useQuery({ queryKey: ["agents", "choice"], queryFn: () => searchAgents("", 200), staleTime: 30_000 });
  const [agent, setAgent] = useState("");
  const change = useMutation({
    mutationFn: ({ id, on }: { id: string; on: boolean }) => (on ? attachTool(id, tool?.id ?? "") : ask("PATCH", `/v1/agents/${id}/tools/detach/${tool?.id}`)),
    onSuccess: (_, { id }) => {
      setAgent("");
      void queries.invalidateQueries({ queryKey: ["tools", tool?.id, "agents"] });
      void queries.invalidateQueries({ queryKey: ["agent", id] });
    },
  });
  if (!tool) return <div className="tabform"><p className="dim">Save the tool first, then give it to agents.</p></div>;
  if (!agents) return <Loading />;
  return (
    <div className="tabform">
      <ul className="plainlist">
        {agents.map((each) => (
          <li key={each.id}><Icon name="agent" size={14} className="mut" /><Link href={paths.agent(each.id)}>{each.name}</Link><button className="btn sm quiet end" disabled={change.isPending} onClick={() => change.mutate({ id: each.id, on: false })}>Detach</button></li>
        ))}
        {!agents.length && <li className="mut">No agent has this tool.</li>}
      </ul>
      <div className="row">
        <Select label="Agent" icon="agent" value={agent} options={[["", "Choose an agent"], ...(all.data ?? []).filter((each) => !agents.some((other) => other.id === each.id)).map((each) => [each.id, each.name] as const)]} onChange={setAgent} />
        <button className="btn" disabled={!agent || change.isPending} onClick={() => change.mutate({ id: agent, on: true })}>Attach</button>
      </div>
      {change.error && <Failure what="Not changed." error={change.error} />}
    </div>
  );
}
