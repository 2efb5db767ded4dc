import { RUN_STATES, type RunFilter, type RunState } from "@/api/runs";
import { Select } from "@/components/controls";
import { useAgentChoice } from "@/features/runs/useRuns";

export function RunFilters({ filter, onChange }: { filter: RunFilter; onChange: (changes: Partial<RunFilter>) => void }) {
  const agents = useAgentChoice();
  return (
    <>
      <Select label="Agent" icon="agent" value={filter.agent ?? ""} options={agents} onChange={(agent) => onChange({ agent: agent || null })} />
      <Select label="State" icon="filter" value={filter.state} options={RUN_STATES} onChange={(state) => onChange({ state: state as RunState })} />
    </>
  );
}
