/* What the model sees of a tool, and a trial run with arguments. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { searchAgents } from "@/api/agents";
import { mcpQuery, type Tool, type ToolResult, tryMcpTool, tryTool } from "@/api/tools";
import { Select, Switch } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { Json } from "@/components/Json";
import { serverIdOf } from "@/features/tools/groups";
import type { Draft, SchemaState } from "@/features/tools/useDraft";
import { count, duration } from "@/lib/format";

type Given = Record<string, string | boolean>;
interface Property { type?: string; description?: string; enum?: string[]; default?: unknown }

export function TrialPane({ tool, draft, seen }: { tool: Tool | null; draft: Draft; seen: SchemaState }) {
  const [given, setGiven] = useState<Given>({});
  const [agent, setAgent] = useState("");
  const agents = useQuery({ queryKey: ["agents", "choice"], queryFn: () => searchAgents("", 200), staleTime: 30_000 });
  const servers = useQuery(mcpQuery);
  const properties = seen.schema?.parameters?.properties ?? {};
  const isMcp = tool?.tool_type === "external_mcp";
  const canRun = tool === null || tool.tool_type === "custom" || isMcp;
  const run = useMutation({
    mutationFn: async (): Promise<ToolResult & { ms: number }> => {
      const args = argumentsOf(given, properties);
      const began = performance.now();
      const packages = draft.language === "python" ? { pip_requirements: draft.packages, npm_requirements: null } : { pip_requirements: null, npm_requirements: draft.packages };
      const result = isMcp && tool
        ? await tryMcpTool(serverIdOf(tool, servers.data ?? []) ?? "", tool.id, args)
        : await tryTool({ source_code: draft.code, source_type: draft.language, name: seen.schema?.name ?? null, args, ...packages }, agent || null);
      return { ...result, ms: performance.now() - began };
    },
  });
  return (
    <aside className="pane" aria-label="Schema and test">
      <div className="panebar"><h2>What the model sees</h2>{seen.schema && <span className="meta">about {count(Math.ceil(JSON.stringify(seen.schema).length / 4))} tokens</span>}</div>
      <div className={`scroll schema ${seen.error ? "old" : ""}`} tabIndex={0} role="group" aria-label="Schema">
        {seen.schema ? <Json key={seen.schema.name ?? ""} value={seen.schema} openTo={4} /> : <p className="meta none">The schema is read from the code.</p>}
      </div>
      {canRun && (
        <>
          <div className="panebar ruled">
            <h2>Test run</h2>
            {!isMcp && <><span className="meta">as</span><span className="asagent"><Select label="Run as" value={agent} options={[["", "nobody"], ...(agents.data ?? []).map((each) => [each.id, each.name] as const)]} onChange={setAgent} /></span></>}
            <span className="end" />
            <button className="btn sm primary" disabled={run.isPending || (seen.error !== null && !isMcp)} onClick={() => run.mutate()}><Icon name="play" size={12} />{run.isPending ? "Running…" : "Run"}</button>
          </div>
          <div className="scroll grow trial" tabIndex={0} role="group" aria-label="Test run">
            {Object.entries(properties).map(([name, property]) => (
              <ArgumentField key={name} name={name} property={property} isRequired={seen.schema?.parameters?.required?.includes(name) ?? false} value={given[name]} onChange={(value) => setGiven((now) => ({ ...now, [name]: value }))} />
            ))}
            {!Object.keys(properties).length && <p className="meta">It takes no arguments.</p>}
            {run.error && <Failure what="It was not run." error={run.error} />}
            {run.data && <Result result={run.data} limit={draft.settings.return_char_limit} />}
          </div>
        </>
      )}
    </aside>
  );
}

function ArgumentField({ name, property, isRequired, value, onChange }: { name: string; property: Property; isRequired: boolean; value: string | boolean | undefined; onChange: (next: string | boolean) => void }) {
  const isComplex = property.type === "object" || property.type === "array";
  const shown = typeof value === "string" ? value : "";
  return (
    <div className="pair arg">
      <code className="small cut" title={property.description}>{name}</code>
      {property.type === "boolean" ? (
        <Switch label={name} checked={value === undefined ? property.default === true : value === true} onChange={onChange} />
      ) : property.enum ? (
        <Select label={name} value={shown} options={[["", "choose"], ...property.enum.map((each) => [each, each] as const)]} onChange={onChange} />
      ) : isComplex ? (
        <textarea className="field mono" rows={2} aria-label={name} placeholder={property.type === "array" ? "[ ]" : "{ }"} value={shown} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <label className="field"><input aria-label={name} inputMode={property.type === "integer" || property.type === "number" ? "decimal" : undefined} placeholder={isRequired ? property.type : `${property.type ?? "any"}, may be left out`} value={shown} onChange={(event) => onChange(event.target.value)} /></label>
      )}
    </div>
  );
}

/** As the schema wants them; what was left empty is left out. Raises a sentence. */
export function argumentsOf(given: Given, properties: Record<string, Property>): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(properties)) {
    const value = given[name];
    if (typeof value === "boolean") made[name] = value;
    else if (value === undefined || value === "") continue;
    else if (property.type === "string" || property.enum) made[name] = value;
    else {
      try {
        made[name] = JSON.parse(value);
      } catch {
        if (property.type !== undefined) throw new Error(`${name} must be ${property.type === "array" || property.type === "object" ? "JSON" : `a ${property.type}`}.`);
        made[name] = value;
      }
    }
  }
  return made;
}

function Result({ result, limit }: { result: ToolResult & { ms: number }; limit: number }) {
  const isFine = result.status === "success";
  const printed = [["Output", result.stdout], ["Errors", result.stderr]] as const;
  const isSilent = printed.every(([, lines]) => !lines?.length);
  return (
    <div className="trialresult" role="status">
      <div className="row small">
        <span className={`row ${isFine ? "ok" : "danger"}`}><Icon name={isFine ? "check" : "x"} size={12} /><b>{isFine ? "Returned" : "Failed"} in {duration(result.ms)}</b></span>
        <span className="mut">{count(result.tool_return.length)} characters of {count(limit)}</span>
      </div>
      <pre className="code wrapped" tabIndex={0}>{pretty(result.tool_return)}</pre>
      {printed.map(([label, lines]) => lines?.length ? <div key={label}><div className="lab">{label}</div><pre className="code wrapped" tabIndex={0}>{lines.join("\n")}</pre></div> : null)}
      <p className="meta">{isSilent && "No output on stdout or stderr. "}Test runs are not written to any agent’s history.</p>
    </div>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
