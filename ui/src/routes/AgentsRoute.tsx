import { useQuery } from "@tanstack/react-query";
import { countAgents } from "@/api/agents";
import { usePage } from "@/components/usePage";
import { count } from "@/lib/format";

export default function AgentsRoute() {
  usePage("Agents");
  const all = useQuery({ queryKey: ["agents", "count"], queryFn: countAgents });
  return (
    <main id="main" className="page" tabIndex={-1}>
      <div className="wrap">
        <div className="pagehead">
          <h1>Agents</h1>
          <span className="mut num">{count(all.data)}</span>
        </div>
      </div>
    </main>
  );
}
