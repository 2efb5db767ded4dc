import { useState } from "react";
import { Link } from "wouter";
import type { Agent } from "@/api/agents";
import { ask } from "@/api/client";
import { NumberField, Select, Switch } from "@/components/controls";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Section } from "@/features/agent-settings/Section";
import type { Saving } from "@/features/agent-settings/useSaving";
import { count, plural } from "@/lib/format";
import { toast } from "@/lib/toasts";

interface Props {
  agent: Agent;
  saving: Saving;
}

export function PromptSection({ agent, saving }: Props) {
  const [text, setText] = useState<string | null>(null);
  const shown = text ?? agent.system;
  return (
    <Section name="System prompt" value={`${count(agent.system.length)} characters`} isSaved={saving.saved === "System prompt"}>
      <textarea className="field" rows={10} aria-label="System prompt" value={shown} onChange={(event) => setText(event.target.value)} />
      <div className="row">
        <button className="btn sm primary" disabled={text === null || text === agent.system} onClick={() => void saving.patch("System prompt", { system: shown }).then((done) => done && setText(null))}>Save</button>
        {text !== null && text !== agent.system && <button className="btn sm quiet" onClick={() => setText(null)}>Discard</button>}
        <span className="meta end">{count(shown.length)} characters</span>
      </div>
    </Section>
  );
}

export function SecretsSection({ agent, saving }: Props) {
  const secrets = agent.secrets ?? [];
  const all = () => Object.fromEntries(secrets.map((each) => [each.key, each.value]));
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const save = (next: Record<string, unknown>) => saving.patch("Secrets", { secrets: next });
  return (
    <Section name="Secrets" value={secrets.length ? `${secrets.length} set` : "none"} isSaved={saving.saved === "Secrets"}>
      <ul className="toollist">
        {secrets.map((each) => (
          <li key={each.key}>
            <Icon name="key" size={14} />
            <code className="cut">{each.key}</code>
            <span className="tag line">set</span>
            <button className="icon sm" aria-label={`Remove ${each.key}`} onClick={() => void save(Object.fromEntries(Object.entries(all()).filter(([key]) => key !== each.key)))}><Icon name="x" size={12} /></button>
          </li>
        ))}
      </ul>
      <form
        className="secretform"
        onSubmit={(event) => {
          event.preventDefault();
          if (!name.trim()) return;
          void save({ ...all(), [name.trim()]: value }).then((done) => {
            if (!done) return;
            setName("");
            setValue("");
          });
        }}
      >
        <label className="field"><input aria-label="Name of the secret" placeholder="NAME" value={name} onChange={(event) => setName(event.target.value)} /></label>
        <label className="field"><input type="password" autoComplete="off" aria-label="Value of the secret" placeholder="value" value={value} onChange={(event) => setValue(event.target.value)} /></label>
        <button className="btn" disabled={!name.trim()}>Set</button>
      </form>
      <p className="small mut">Tools read them as environment variables. Values stay hidden here; you can replace them.</p>
    </Section>
  );
}

export function SleepSection({ agent, saving }: Props) {
  const isOn = agent.enable_sleeptime ?? false;
  const group = agent.managed_group as { id: string; agent_ids: string[]; sleeptime_agent_frequency?: number | null } | null | undefined;
  const every = group?.sleeptime_agent_frequency ?? null;
  return (
    <Section name="Sleep-time" value={isOn ? `every ${plural(every ?? 1, "turn")}` : "off"} isSaved={saving.saved === "Sleep-time"}>
      <div className="pair"><span>Think between turns</span><span className="end"><Switch label="Sleep-time" checked={isOn} onChange={(next) => void saving.patch("Sleep-time", { enable_sleeptime: next })} /></span></div>
      {isOn && group && (
        <>
          <div className="pair"><span>Every</span><NumberField label="Every so many turns" unit="turns" min={1} value={every} onSave={(next) => next !== null && void saving.run("Sleep-time", () => ask("PATCH", `/v1/groups/${group.id}`, { body: { manager_config: { manager_type: "sleeptime", sleeptime_agent_frequency: next } } }))} /></div>
          {group.agent_ids[0] && <p className="small"><Link href={paths.agent(group.agent_ids[0])}>Open the helper</Link></p>}
        </>
      )}
      {!isOn && <p className="small mut">A helper reads along after some turns and tidies the memory blocks.</p>}
    </Section>
  );
}

const MODES = [
  ["sliding_window", "Sliding"],
  ["all", "Everything"],
  ["self_compact_sliding_window", "Sliding, by itself"],
  ["self_compact_all", "Everything, by itself"],
] as const;

export function CompactionSection({ agent, saving, conversation }: Props & { conversation: string | null }) {
  const settings = agent.compaction_settings as { mode?: string; sliding_window_percentage?: number; model?: string | null } | null | undefined;
  const mode = settings?.mode ?? "sliding_window";
  const percent = Math.round((settings?.sliding_window_percentage ?? 0.3) * 100);
  const [isBusy, setBusy] = useState(false);
  const save = (changes: Record<string, unknown>) => void saving.patch("Compaction", { compaction_settings: changes });
  const name = MODES.find(([id]) => id === mode)?.[1] ?? mode;
  const compact = async () => {
    setBusy(true);
    const path = conversation ? `/v1/conversations/${conversation}/compact` : `/v1/agents/${agent.id}/summarize`;
    await saving.run("Compaction", async () => {
      const done = await ask<{ num_messages_before: number; num_messages_after: number }>("POST", path);
      toast(`${count(done.num_messages_before)} messages became ${count(done.num_messages_after)}.`);
    });
    setBusy(false);
  };
  return (
    <Section name="Compaction" value={mode.endsWith("sliding_window") ? `${name.toLowerCase()}, ${percent} %` : name.toLowerCase()} isSaved={saving.saved === "Compaction"}>
      <div className="pair"><span>Mode</span><Select label="Mode" value={mode} options={MODES} onChange={(next) => save({ mode: next })} /></div>
      {mode.endsWith("sliding_window") && <div className="pair"><span>Take out at least</span><NumberField label="Take out at least" unit="%" min={1} max={99} value={percent} onSave={(next) => next !== null && save({ sliding_window_percentage: next / 100 })} /></div>}
      {settings?.model && <div className="pair"><span>Written by</span><span className="cut mono small" title={settings.model}>{settings.model}</span></div>}
      <div><button className="btn sm" disabled={isBusy} onClick={() => void compact()}><Icon name="squeeze" size={14} />{isBusy ? "Compacting…" : "Compact now"}</button></div>
    </Section>
  );
}
