/* One MCP server: reach it, take over its tools, give them to agents. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { searchAgents } from "@/api/agents";
import { describe } from "@/api/errors";
import { attachTool, type ConnectEvent, connectMcpServer, deleteMcpServer, mcpQuery, syncMcpServer, toolsQuery } from "@/api/tools";
import { ConfirmButton } from "@/components/ConfirmButton";
import { Select } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Empty, Note } from "@/components/Note";
import { serverIdOf } from "@/features/tools/groups";
import { plural } from "@/lib/format";
import { toast } from "@/lib/toasts";

export function McpPane({ id }: { id: string }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const servers = useQuery(mcpQuery);
  const all = useQuery(toolsQuery);
  const server = servers.data?.find((each) => each.id === id);
  const tools = (all.data ?? []).filter((tool) => tool.tool_type === "external_mcp" && serverIdOf(tool, servers.data ?? []) === id);
  const refresh = () => Promise.all([queries.invalidateQueries({ queryKey: ["tools"] }), queries.invalidateQueries({ queryKey: ["mcp"] })]);
  const sync = useMutation({
    mutationFn: () => syncMcpServer(id),
    onSuccess: async (changes) => {
      await refresh();
      const said = [changes.added.length && `${changes.added.length} added`, changes.updated.length && `${changes.updated.length} changed`, changes.deleted.length && `${changes.deleted.length} gone`].filter(Boolean).join(", ");
      toast(said ? `Synced: ${said}.` : "Synced: nothing has changed.");
    },
  });
  const remove = useMutation({ mutationFn: () => deleteMcpServer(id), onSuccess: async () => { await refresh(); navigate(paths.tools); toast("The server is removed."); } });
  if (servers.isPending) return <section className="main"><Loading /></section>;
  if (!server) return <section className="main"><div className="wrap"><Empty title="No such MCP server">It may have been removed.</Empty></div></section>;
  const address = server.mcp_server_type === "stdio" ? [server.command, ...(server.args ?? [])].join(" ") : server.server_url;
  return (
    <section className="main" aria-label="MCP server">
      <div className="panebar">
        <h1 className="h2">{server.server_name}</h1>
        <span className="tag">{server.mcp_server_type === "stdio" ? "program here" : server.mcp_server_type === "sse" ? "SSE" : "HTTP"}</span>
        <span className="end" />
        <button className="btn sm" disabled={sync.isPending} onClick={() => sync.mutate()}><Icon name="refresh" size={14} />{sync.isPending ? "Syncing…" : "Sync"}</button>
        <ConfirmButton question={`Remove it and its ${plural(tools.length, "tool")}?`} disabled={remove.isPending} onConfirm={() => remove.mutate()}>Remove</ConfirmButton>
      </div>
      <div className="scroll grow mcpbody" tabIndex={0}>
        <dl className="facts">
          <dt>Address</dt><dd className="mono small">{address}</dd>
          <dt>Token</dt><dd>{server.auth_token ? "set" : "none"}</dd>
        </dl>
        <Connecting id={id} onDone={refresh} />
        {sync.error && <Failure what="The tools could not be read from the server. Those known so far stay." error={sync.error} onRetry={() => sync.mutate()} />}
        {remove.error && <Failure what="It was not removed." error={remove.error} />}
        <Attaching serverTools={tools} />
        <h2>{plural(tools.length, "tool")}</h2>
        {tools.length ? (
          <div className="panel">
            {tools.map((tool) => (
              <Link key={tool.id} className="listrow" href={paths.tool(tool.id)}>
                <span className="a"><Icon name="plug" size={14} className="mut" /><code>{tool.name}</code></span>
                {tool.description && <span className="b"><span className="cut">{tool.description}</span></span>}
              </Link>
            ))}
          </div>
        ) : <Empty title="No tools yet">Connect, and the tools that the server offers are taken over.</Empty>}
      </div>
    </section>
  );
}

function Connecting({ id, onDone }: { id: string; onDone: () => Promise<unknown> }) {
  const [events, setEvents] = useState<ConnectEvent[]>([]);
  const [isOn, setOn] = useState(false);
  const stop = useRef<AbortController | null>(null);
  const connect = async () => {
    setEvents([]);
    setOn(true);
    stop.current = new AbortController();
    try {
      for await (const event of connectMcpServer(id, stop.current.signal)) setEvents((now) => [...now, event]);
    } catch (error) {
      setEvents((now) => [...now, { event: "error", message: describe(error) }]);
    }
    setOn(false);
    await onDone();
  };
  const last = events.at(-1);
  const url = events.find((each) => each.event === "authorization_url")?.url;
  return (
    <div className="connecting">
      <button className="btn primary" disabled={isOn} onClick={() => void connect()}><Icon name="plug" size={14} />{isOn ? "Connecting…" : "Connect"}</button>
      {isOn && <button className="btn quiet" onClick={() => stop.current?.abort()}>Stop</button>}
      {isOn && url && <Note tone="warn">The server asks you to sign in. <a href={url} target="_blank" rel="noreferrer">Open its page</a>; this goes on when you are back.</Note>}
      {!isOn && last?.event === "success" && <Note tone="ok" role="status"><b>Connected.</b> {plural((last.added?.length ?? 0), "tool")} added, {last.updated?.length ?? 0} changed.</Note>}
      {!isOn && last?.event === "error" && <Note tone="bad" role="alert"><b>It cannot be reached.</b> {last.message} Check the address and whether the server runs. The tools known so far stay.</Note>}
    </div>
  );
}

function Attaching({ serverTools }: { serverTools: { id: string; name: string }[] }) {
  const agents = useQuery({ queryKey: ["agents", "choice"], queryFn: () => searchAgents("", 200), staleTime: 30_000 });
  const [agent, setAgent] = useState("");
  const [tool, setTool] = useState("");
  const queries = useQueryClient();
  const attach = useMutation({
    mutationFn: async () => {
      for (const each of serverTools.filter((other) => !tool || other.id === tool)) await attachTool(agent, each.id);
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["agent", agent] });
      toast(`${tool ? serverTools.find((each) => each.id === tool)?.name : plural(serverTools.length, "tool")} attached to ${agents.data?.find((each) => each.id === agent)?.name}.`);
    },
  });
  if (!serverTools.length) return null;
  return (
    <>
      <div className="row attaching">
        <span className="dim nowrap">Give</span>
        <Select label="Tool" value={tool} options={[["", "all its tools"], ...serverTools.map((each) => [each.id, each.name] as const)]} onChange={setTool} />
        <span className="dim">to</span>
        <Select label="Agent" icon="agent" value={agent} options={[["", "choose an agent"], ...(agents.data ?? []).map((each) => [each.id, each.name] as const)]} onChange={setAgent} />
        <button className="btn" disabled={!agent || attach.isPending} onClick={() => attach.mutate()}>{attach.isPending ? "Attaching…" : "Attach"}</button>
      </div>
      {attach.error && <Failure what="Not attached." error={attach.error} />}
    </>
  );
}
