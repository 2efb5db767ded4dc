import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { Agent } from "@/api/agents";
import { ask } from "@/api/client";
import { Dialog } from "@/components/Dialog";
import { Icon, type Glyph } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Menu } from "@/components/Menu";
import { originOf, tagsOf, type ToolRule } from "@/features/agent-settings/rules";
import { Section } from "@/features/agent-settings/Section";
import type { Saving } from "@/features/agent-settings/useSaving";

interface Tool {
  id: string;
  name: string;
  description: string | null;
  tool_type?: string | null;
  tags?: string[] | null;
}

export function ToolsSection({ agent, saving }: { agent: Agent; saving: Saving }) {
  const [isAttaching, setAttaching] = useState(false);
  const tools = agent.tools as unknown as Tool[];
  const rules = (agent.tool_rules ?? []) as unknown as ToolRule[];
  const origins = [...new Set(tools.map(originOf))].sort((a, b) => rank(a) - rank(b));
  const save = (work: () => Promise<unknown>) => saving.run("Tools and rules", work);
  const path = `/v1/agents/${agent.id}/tools`;
  return (
    <Section name="Tools and rules" value={String(tools.length)} isSaved={saving.saved === "Tools and rules"} opened>
      <ul className="toollist">
        {origins.map((origin) => [
          <li key={origin} className="sub">{origin}</li>,
          ...tools.filter((tool) => originOf(tool) === origin).map((tool) => {
            const tags = tagsOf(tool.name, rules);
            const asks = tags.some((tag) => tag.text === "asks first");
            return (
              <li key={tool.id}>
                <Icon name={glyphOf(tool)} size={14} />
                <code className="cut" title={tool.description ?? undefined}>{tool.name}</code>
                {tags.map((tag) => <span key={tag.text} className={`tag ${tag.tone}`}>{tag.text}</span>)}
                <Menu
                  label={`More for ${tool.name}`}
                  className="icon sm"
                  align="end"
                  items={[
                    { label: asks ? "Let it run without asking" : "Ask me before it runs", icon: "shield", run: () => void save(() => ask("PATCH", `${path}/approval/${tool.name}`, { body: { requires_approval: !asks } })) },
                    { label: "Detach", icon: "x", danger: true, run: () => void save(() => ask("PATCH", `${path}/detach/${tool.id}`)) },
                  ]}
                >
                  <Icon name="dots" size={14} />
                </Menu>
              </li>
            );
          }),
        ])}
      </ul>
      {tools.length === 0 && <p className="small mut">No tools: the agent can only talk.</p>}
      <div><button className="btn sm" onClick={() => setAttaching(true)}><Icon name="plus" size={14} />Attach a tool</button></div>
      {isAttaching && <AttachTool attached={new Set(tools.map((tool) => tool.id))} onClose={() => setAttaching(false)} onAttach={(tool) => void save(() => ask("PATCH", `${path}/attach/${tool.id}`))} />}
    </Section>
  );
}

function AttachTool({ attached, onClose, onAttach }: { attached: ReadonlySet<string>; onClose: () => void; onAttach: (tool: Tool) => void }) {
  const [text, setText] = useState("");
  const all = useQuery({ queryKey: ["tools", "all"], queryFn: () => ask<Tool[]>("GET", "/v1/tools/", { query: { limit: 1000 } }) });
  const found = (all.data ?? []).filter((tool) => !attached.has(tool.id) && `${tool.name} ${tool.description}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <Dialog label="Attach a tool" onClose={onClose}>
      <div className="body stack">
        <label className="field"><Icon name="search" size={14} /><input autoFocus placeholder="Name or description" aria-label="Search tools" value={text} onChange={(event) => setText(event.target.value)} /></label>
        {all.isPending && <Loading />}
        <ul className="attachlist">
          {found.map((tool) => (
            <li key={tool.id}>
              <Icon name={glyphOf(tool)} size={14} />
              <span className="grow"><code>{tool.name}</code><span className="small mut cut">{tool.description?.split("\n")[0]}</span></span>
              <button className="btn sm" aria-label={`Attach ${tool.name}`} onClick={() => onAttach(tool)}>Attach</button>
            </li>
          ))}
        </ul>
        {all.data && !found.length && <p className="dim">Nothing to attach{text ? ` matches “${text}”` : ""}. <Link href={paths.tools}>Write a tool or add an MCP server</Link>.</p>}
      </div>
    </Dialog>
  );
}

function rank(origin: string): number {
  return origin === "Built in" ? 0 : origin === "Yours" ? 1 : 2;
}

function glyphOf(tool: Tool): Glyph {
  if (originOf(tool).startsWith("MCP")) return "plug";
  if (/^(memory|core_memory)/.test(tool.name)) return "block";
  if (tool.name.startsWith("archival_")) return "archive";
  return tool.name === "conversation_search" ? "recall" : "tool";
}
