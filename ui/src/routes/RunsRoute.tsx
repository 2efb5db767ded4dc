import { usePage } from "@/components/usePage";
import { RunTable } from "@/features/runs/RunTable";

export default function RunsRoute() {
  usePage("Runs");
  return (
    <main id="main" className="page" tabIndex={-1}>
      <RunTable />
    </main>
  );
}
