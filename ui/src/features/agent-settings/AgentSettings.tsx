/* The left of the workbench: who the agent is and how it works. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { type Agent, deleteAgent, duplicateAgent } from "@/api/agents";
import { describe } from "@/api/errors";
import { useCommands } from "@/components/commands";
import { CopyButton } from "@/components/controls";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Menu } from "@/components/Menu";
import { FoldersSection } from "@/features/agent-settings/FoldersSection";
import { ModelSection } from "@/features/agent-settings/ModelSection";
import { CompactionSection, PromptSection, SecretsSection, SleepSection } from "@/features/agent-settings/OtherSections";
import { SchedulesSection } from "@/features/agent-settings/SchedulesSection";
import { ToolsSection } from "@/features/agent-settings/ToolsSection";
import { type Saving, useSaving } from "@/features/agent-settings/useSaving";
import { shortId } from "@/lib/format";
import { toast } from "@/lib/toasts";

export function AgentSettings({ agent, conversation }: { agent: Agent; conversation: string | null }) {
  const saving = useSaving(agent);
  return (
    <>
      <Who agent={agent} saving={saving} />
      <div className="scroll grow" tabIndex={0} role="group" aria-label="Settings">
        <ModelSection agent={agent} saving={saving} />
        <ToolsSection agent={agent} saving={saving} />
        <FoldersSection agent={agent} saving={saving} />
        <PromptSection agent={agent} saving={saving} />
        <SecretsSection agent={agent} saving={saving} />
        <SleepSection agent={agent} saving={saving} />
        <SchedulesSection agent={agent} saving={saving} />
        <CompactionSection agent={agent} saving={saving} conversation={conversation} />
      </div>
    </>
  );
}

function Who({ agent, saving }: { agent: Agent; saving: Saving }) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const [dialog, setDialog] = useState<"rename" | "delete" | null>(null);
  const duplicate = async () => {
    try {
      const made = await duplicateAgent(agent.id);
      void queries.invalidateQueries({ queryKey: ["agents"] });
      navigate(paths.agent(made.id));
      toast(`This is ${made.name}: the same mind and settings, an empty history.`);
    } catch (error) {
      toast(`Not duplicated. ${describe(error)}`, { tone: "bad" });
    }
  };
  const remove = async () => {
    try {
      await deleteAgent(agent.id);
      void queries.invalidateQueries({ queryKey: ["agents"] });
      navigate(paths.agents);
      toast(`${agent.name} is deleted.`);
    } catch (error) {
      toast(`Not deleted. ${describe(error)}`, { tone: "bad" });
    }
  };
  useCommands([
    { id: "rename", group: "This agent", label: "Rename or describe", icon: "pencil", run: () => setDialog("rename") },
    { id: "duplicate", group: "This agent", label: "Duplicate", icon: "copy", run: () => void duplicate() },
    { id: "delete", group: "This agent", label: `Delete ${agent.name}`, icon: "x", confirm: `Delete ${agent.name} and its history?`, run: () => void remove() },
  ]);
  return (
    <div className="who">
      <div className="row">
        <h1 className="name cut">{agent.name}</h1>
        <span className="end" />
        <button className="icon sm" aria-label="Rename or describe" title="Rename or describe" onClick={() => setDialog("rename")}><Icon name="pencil" size={14} /></button>
        <Menu label="Duplicate, delete" className="icon sm" align="end" items={[{ label: "Duplicate", icon: "copy", run: () => void duplicate() }, { label: "Delete", icon: "x", danger: true, run: () => setDialog("delete") }]}>
          <Icon name="dots" />
        </Menu>
      </div>
      {agent.description && <p>{agent.description}</p>}
      <div className="ids">
        {(agent.tags ?? []).slice(0, 3).map((tag) => <span key={tag} className="tag">{tag}</span>)}
        <span className="end"><CopyButton className="rev mono" text={agent.id} label="Copy agent id">{shortId(agent.id)}</CopyButton></span>
      </div>
      {dialog === "rename" && <Rename agent={agent} saving={saving} onClose={() => setDialog(null)} />}
      {dialog === "delete" && (
        <Dialog label={`Delete ${agent.name}?`} onClose={() => setDialog(null)}>
          <div className="body dim">Its history, settings and secrets go. Memory blocks stay, and can be attached to another agent.</div>
          <div className="foot"><button className="btn bad" onClick={() => void remove()}>Delete</button><button className="btn" autoFocus onClick={() => setDialog(null)}>Keep it</button></div>
        </Dialog>
      )}
    </div>
  );
}

function Rename({ agent, saving, onClose }: { agent: Agent; saving: Saving; onClose: () => void }) {
  return (
    <Dialog label="Rename or describe" onClose={onClose}>
      <form
        className="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const text = (name: string) => String(data.get(name) ?? "").trim();
          const tags = text("tags").split(",").map((tag) => tag.trim()).filter(Boolean);
          void saving.patch("Name", { name: text("name"), description: text("description"), tags }).then((done) => done && onClose());
        }}
      >
        <div><label className="formlab" htmlFor="r-name">Name</label><span className="field"><input id="r-name" name="name" required defaultValue={agent.name} autoFocus /></span></div>
        <div><label className="formlab" htmlFor="r-about">Description</label><span className="field"><input id="r-about" name="description" defaultValue={agent.description ?? ""} /></span></div>
        <div><label className="formlab" htmlFor="r-tags">Tags, parted by commas</label><span className="field"><input id="r-tags" name="tags" defaultValue={(agent.tags ?? []).join(", ")} /></span></div>
        <div className="row"><button className="btn primary">Save</button></div>
      </form>
    </Dialog>
  );
}
