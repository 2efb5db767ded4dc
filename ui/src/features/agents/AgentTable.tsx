/* Any number of agents: only the rows in view are in the page, the rest is two empty rows of the right height. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect } from "react";
import { useLocation } from "wouter";
import type { Agent } from "@/api/agents";
import { paths } from "@/components/links";
import { AgentRow } from "@/features/agents/AgentRow";

const ROW_PX = 51;
const COLUMNS = 8;

interface Props {
  agents: readonly Agent[];
  runningIds: ReadonlySet<string>;
  scroller: RefObject<HTMLElement | null>;
  onEnd: () => void;
  onDuplicate: (agent: Agent) => void;
  onDelete: (agent: Agent) => void;
}

export function AgentTable({ agents, runningIds, scroller, onEnd, onDuplicate, onDelete }: Props) {
  const [, navigate] = useLocation();
  const rows = useVirtualizer({ count: agents.length, getScrollElement: () => scroller.current, estimateSize: () => ROW_PX, overscan: 12, scrollMargin: 160 });
  const shown = rows.getVirtualItems();
  const first = shown[0];
  const last = shown.at(-1);
  const lastAt = last?.index ?? 0;
  useEffect(() => {
    if (lastAt > agents.length - 60) onEnd();
  }, [lastAt, agents.length, onEnd]);
  const open = (id: string) => navigate(paths.agent(id));
  const above = first ? first.index * ROW_PX : 0;
  const below = last ? (agents.length - 1 - last.index) * ROW_PX : 0;
  return (
    <div className="panel">
      <table className="table agents" aria-rowcount={agents.length}>
        <thead>
          <tr>
            <th className="w-name">Agent</th>
            <th className="c-tags">Tags</th>
            <th className="c-model">Model</th>
            <th className="c-ctx">Context</th>
            <th className="r c-msgs">Messages</th>
            <th>State</th>
            <th className="r c-when">Last activity</th>
            <th><span className="vh">More</span></th>
          </tr>
        </thead>
        <tbody>
          {above > 0 && <tr className="gap" aria-hidden="true"><td colSpan={COLUMNS} style={{ height: above }} /></tr>}
          {shown.map((row) => {
            const agent = agents[row.index];
            return agent && <AgentRow key={agent.id} agent={agent} isRunning={runningIds.has(agent.id)} onOpen={open} onDuplicate={onDuplicate} onDelete={onDelete} />;
          })}
          {below > 0 && <tr className="gap" aria-hidden="true"><td colSpan={COLUMNS} style={{ height: below }} /></tr>}
        </tbody>
      </table>
    </div>
  );
}
