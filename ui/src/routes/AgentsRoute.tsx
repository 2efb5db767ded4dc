import { usePage } from "@/components/usePage";

export default function AgentsRoute() {
  usePage("Agents");
  return (
    <main id="main" className="page" tabIndex={-1}>
      <div className="wrap"><div className="pagehead"><h1>Agents</h1></div></div>
    </main>
  );
}
