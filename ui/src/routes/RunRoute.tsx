import { useParams } from "wouter";
import { usePage } from "@/components/usePage";
import { RunList } from "@/features/runs/RunList";
import { RunPane } from "@/features/runs/RunPane";

export default function RunRoute() {
  usePage("Run");
  const { id = "" } = useParams<{ id: string }>();
  return (
    <main id="main" className="split runsplit opened" tabIndex={-1}>
      <RunList chosen={id} />
      <RunPane key={id} id={id} />
    </main>
  );
}
