import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Agent } from "@/api/agents";
import { modelsQuery } from "@/api/catalogue";
import { NumberField, Select, Switch } from "@/components/controls";
import { Section } from "@/features/agent-settings/Section";
import type { Saving } from "@/features/agent-settings/useSaving";
import { count } from "@/lib/format";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"].map((each) => [each, each[0]?.toUpperCase() + each.slice(1)] as const);
const LEAST_WINDOW = 2048;

interface ModelSettings {
  provider_type?: string;
  max_output_tokens?: number | null;
  temperature?: number | null;
  parallel_tool_calls?: boolean;
  reasoning?: { reasoning_effort?: string };
}

export function ModelSection({ agent, saving }: { agent: Agent; saving: Saving }) {
  const models = useQuery(modelsQuery);
  const settings = (agent.model_settings ?? {}) as ModelSettings;
  const model = models.data?.find((each) => each.handle === agent.model);
  // Only what changed: the rest may have been changed a moment ago, by this hand or another.
  const save = (changes: ModelSettings) => void saving.patch("Model", { model_settings: { provider_type: settings.provider_type, ...changes } });
  const handles = models.data?.map((each) => each.handle) ?? [];
  const options = agent.model && !handles.includes(agent.model) ? [agent.model, ...handles] : handles;
  return (
    <Section name="Model" value={agent.model} isSaved={saving.saved === "Model"} opened>
      <Select label="Model" value={agent.model ?? ""} options={options.map((each) => [each, each] as const)} onChange={(next) => void saving.patch("Model", { model: next })} />
      {models.data && agent.model && !handles.includes(agent.model) && <p className="small danger">The server does not offer this model now.</p>}
      <Window key={agent.llm_config.context_window} value={agent.llm_config.context_window} max={Math.max(model?.max_context_window ?? 0, agent.llm_config.context_window)} onSave={(next) => void saving.patch("Model", { context_window_limit: next })} />
      <div className="pair"><span>Max output tokens</span><NumberField label="Max output tokens" min={1} value={settings.max_output_tokens ?? null} onSave={(next) => next !== null && save({ max_output_tokens: next })} /></div>
      <div className="pair"><span>Temperature</span><NumberField label="Temperature" min={0} max={2} step={0.1} value={settings.temperature ?? null} onSave={(next) => next !== null && save({ temperature: next })} /></div>
      {settings.reasoning && (
        <div className="pair"><span>Reasoning</span><Select label="Reasoning" value={settings.reasoning.reasoning_effort ?? "minimal"} options={EFFORTS} onChange={(next) => save({ reasoning: { ...settings.reasoning, reasoning_effort: next } })} /></div>
      )}
      <div className="pair"><span>Parallel tool calls</span><span className="end"><Switch label="Parallel tool calls" checked={settings.parallel_tool_calls ?? false} onChange={(next) => save({ parallel_tool_calls: next })} /></span></div>
    </Section>
  );
}

/** Saved when the hand lets go, not on the way. */
function Window({ value, max, onSave }: { value: number; max: number; onSave: (next: number) => void }) {
  const [shown, setShown] = useState(value);
  useEffect(() => setShown(value), [value]);
  const save = () => {
    if (shown !== value) onSave(shown);
  };
  const least = Math.min(LEAST_WINDOW, max);
  return (
    <div>
      <div className="lab"><label htmlFor="window">Context window</label><span className="num">{count(shown)} of {count(max)}</span></div>
      <input id="window" className="slider" type="range" min={least} max={max} step={256} value={shown} onChange={(event) => setShown(Number(event.target.value))} onPointerUp={save} onKeyUp={save} onBlur={save} style={{ "--at": `${((shown - least) / Math.max(1, max - least)) * 100}%` } as React.CSSProperties} />
    </div>
  );
}
