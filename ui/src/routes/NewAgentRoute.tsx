import { useQuery } from "@tanstack/react-query";
import { countAgents } from "@/api/agents";
import { usePage } from "@/components/usePage";
import { NewAgent } from "@/features/agents/NewAgent";

export default function NewAgentRoute() {
  usePage("New agent");
  const total = useQuery({ queryKey: ["agents", "count"], queryFn: countAgents });
  return (
    <main id="main" className="page" tabIndex={-1}>
      <div className="first narrow">
        <h1>New agent</h1>
        <p className="lead">It keeps one history for life and writes its own memory.</p>
        {total.data !== undefined && <NewAgent suggested={`Agent ${total.data + 1}`} />}
      </div>
    </main>
  );
}
