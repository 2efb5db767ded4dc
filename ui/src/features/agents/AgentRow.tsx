import { memo } from "react";
import { Link } from "wouter";
import type { Agent } from "@/api/agents";
import { sectionsOf } from "@/api/context";
import { ContextBar } from "@/components/ContextBar";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Menu } from "@/components/Menu";
import { useRowContext } from "@/features/agents/useRowContext";
import { count, exactly, share, UNKNOWN, when } from "@/lib/format";

interface Props {
  agent: Agent;
  isRunning: boolean;
  onOpen: (id: string) => void;
  onDuplicate: (agent: Agent) => void;
  onDelete: (agent: Agent) => void;
}

export const AgentRow = memo(function AgentRow({ agent, isRunning, onOpen, onDuplicate, onDelete }: Props) {
  const context = useRowContext(agent.id);
  const [tone, words] = stateOf(agent, isRunning);
  return (
    <tr
      onClick={(event) => {
        if (!(event.target as Element).closest("a, button, .menubox")) onOpen(agent.id);
      }}
    >
      <td>
        <div className="nm cut"><Link href={paths.agent(agent.id)}>{agent.name}</Link></div>
        {agent.description && <div className="ds cut">{agent.description}</div>}
      </td>
      <td className="c-tags">
        <span className="row taglist">{(agent.tags ?? []).slice(0, 3).map((tag) => <span key={tag} className="tag">{tag}</span>)}</span>
      </td>
      <td className="c-model"><span className="mono small dim nowrap">{agent.model ?? UNKNOWN}</span></td>
      <td className="c-ctx">
        {context.data && (
          <span className="row">
            <ContextBar mini sections={sectionsOf(context.data)} used={context.data.context_window_size_current} max={context.data.context_window_size_max} />
            <span className="num small dim">{share(context.data.context_window_size_current, context.data.context_window_size_max)}</span>
          </span>
        )}
      </td>
      <td className="r c-msgs">{count(context.data?.num_recall_memory)}</td>
      <td><span className="state"><i className={`dot ${tone}`} />{tone === "idle" ? words : <b>{words}</b>}</span></td>
      <td className="r dim nowrap c-when" title={exactly(agent.last_run_completion)}>{when(agent.last_run_completion)}</td>
      <td className="r">
        <Menu
          label={`More for ${agent.name}`}
          className="icon sm"
          align="end"
          items={[
            { label: "Open", icon: "right", run: () => onOpen(agent.id) },
            { label: "Duplicate", icon: "copy", run: () => onDuplicate(agent) },
            { label: "Delete", icon: "x", danger: true, run: () => onDelete(agent) },
          ]}
        >
          <Icon name="dots" />
        </Menu>
      </td>
    </tr>
  );
});

const FINE = new Set(["end_turn", "tool_rule", "cancelled", "max_steps"]);
const FAULTS: Record<string, string> = {
  llm_api_error: "Model failed",
  invalid_llm_response: "Model failed",
  insufficient_credits: "No credits left",
  context_window_overflow_in_system_prompt: "Prompt too long",
};

function stateOf(agent: Agent, isRunning: boolean): [string, string] {
  const reason = agent.last_stop_reason;
  if (isRunning) return ["run", "Running"];
  if (reason === "requires_approval") return ["warn", "Waits for approval"];
  if (!reason || FINE.has(reason)) return ["idle", "Idle"];
  return ["bad", FAULTS[reason] ?? "Failed"];
}
