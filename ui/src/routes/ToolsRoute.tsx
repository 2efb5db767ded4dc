import { useQuery } from "@tanstack/react-query";
import { useLocation, useSearchParams } from "wouter";
import { toolsQuery } from "@/api/tools";
import { Empty } from "@/components/Note";
import { usePage } from "@/components/usePage";
import { McpPane } from "@/features/tools/McpPane";
import { ToolList } from "@/features/tools/ToolList";
import { ToolPane } from "@/features/tools/ToolPane";

export default function ToolsRoute() {
  const [location, navigate] = useLocation();
  const [, , first, second] = location.split("/");
  const isNew = first === "new";
  const server = first === "mcp" ? second : undefined;
  const id = isNew || server ? undefined : first;
  const [search] = useSearchParams();
  const tools = useQuery(toolsQuery);
  const tool = tools.data?.find((each) => each.id === id);
  usePage(tool?.name ?? (isNew ? "New tool" : "Tools"));
  const hasAside = isNew || tool !== undefined;
  return (
    <main id="main" className={`split toolsplit ${hasAside ? "" : "two"} ${first ? "opened" : ""}`} tabIndex={-1}>
      <ToolList chosen={id ?? server ?? null} />
      {server ? <McpPane key={server} id={server} /> : isNew ? <ToolPane key="new" tool={null} language={search.get("language") ?? "python"} /> : tool ? <ToolPane key={tool.id} tool={tool} /> : (
        <section className="main"><div className="wrap">
          {id && tools.data ? <Empty title="No such tool">It may have been deleted.</Empty> : (
            <Empty title="Tools are what an agent can do" action={<button className="btn primary" onClick={() => navigate("/tools/new")}>Write a tool</button>}>
              Choose one to see its code and what the model sees of it. Your own are functions in Python or TypeScript, run in a sandbox; MCP servers bring more.
            </Empty>
          )}
        </div></section>
      )}
    </main>
  );
}
