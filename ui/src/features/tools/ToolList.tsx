import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { mcpQuery, toolsQuery } from "@/api/tools";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Menu } from "@/components/Menu";
import { AddMcpServer } from "@/features/tools/AddMcpServer";
import { glyphFor, groupTools } from "@/features/tools/groups";
import { useKeys } from "@/lib/keys";

export function ToolList({ chosen }: { chosen: string | null }) {
  const [query, setQuery] = useState("");
  const [isAdding, setAdding] = useState(false);
  const [, navigate] = useLocation();
  const tools = useQuery(toolsQuery);
  const servers = useQuery(mcpQuery);
  const groups = groupTools(tools.data ?? [], servers.data ?? [], query);
  useKeys([{ group: "Tools", keys: "/", label: "Find a tool", run: () => document.getElementById("find-tool")?.focus() }]);
  return (
    <section className="pane list" aria-label="Tools">
      <div className="panebar toolfind">
        <label className="field"><Icon name="search" size={14} /><input id="find-tool" placeholder="Find a tool" aria-label="Find a tool" value={query} onChange={(event) => setQuery(event.target.value)} /></label>
        <Menu
          label="Add"
          title="Add a tool or an MCP server"
          align="end"
          items={[
            { label: "New Python tool", icon: "tool", run: () => navigate("/tools/new") },
            { label: "New TypeScript tool", icon: "tool", run: () => navigate("/tools/new?language=typescript") },
            { label: "Add an MCP server", icon: "plug", run: () => setAdding(true) },
          ]}
        >
          <Icon name="plus" />
        </Menu>
      </div>
      <nav className="scroll grow toolgroups" aria-label="All tools">
        {tools.isPending && <Loading lines={4} />}
        {tools.error && <Failure what="The tools cannot be read." error={tools.error} onRetry={() => void tools.refetch()} />}
        {groups.map((group) => (
          <section key={group.key} aria-label={group.title}>
            <div className="listsub">
              {group.server ? <Link href={`/tools/mcp/${group.server.id}`} aria-current={chosen === group.server.id ? "true" : undefined}>{group.title}</Link> : <span>{group.title}</span>}
              <span>{group.tools.length}</span>
            </div>
            {group.tools.map((tool) => (
              <Link key={tool.id} className={`listrow slim ${tool.id === chosen ? "sel" : ""}`} href={paths.tool(tool.id)} aria-current={tool.id === chosen ? "true" : undefined}>
                <span className="a"><Icon name={glyphFor(tool)} size={14} className="mut" /><code className="cut">{tool.name}</code>{tool.default_requires_approval && <span className="end tag warn">asks first</span>}</span>
              </Link>
            ))}
            {group.key === "yours" && !group.tools.length && <p className="meta none">None yet. Write one with +, in Python or TypeScript.</p>}
            {group.server && !group.tools.length && <p className="meta none">No tools known. Open the server and connect.</p>}
          </section>
        ))}
        {tools.data && query && !groups.length && <p className="meta none">No tool is called or about “{query}”.</p>}
      </nav>
      {isAdding && <AddMcpServer onClose={() => setAdding(false)} />}
    </section>
  );
}
