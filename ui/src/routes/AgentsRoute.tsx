import { useRef } from "react";
import { usePage } from "@/components/usePage";
import { AgentList } from "@/features/agents/AgentList";

export default function AgentsRoute() {
  usePage("Agents");
  const scroller = useRef<HTMLElement>(null);
  return (
    <main id="main" className="page" tabIndex={-1} ref={scroller}>
      <AgentList scroller={scroller} />
    </main>
  );
}
