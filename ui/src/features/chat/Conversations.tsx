/* Which conversation is shown, and the others of this agent. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { describe } from "@/api/errors";
import { createConversation, deleteConversation, listConversations, type Place, renameConversation } from "@/api/messages";
import { useCommands } from "@/components/commands";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Menu } from "@/components/Menu";
import { when } from "@/lib/format";
import { toast } from "@/lib/toasts";

export const conversationsKey = (agentId: string) => ["agent", agentId, "conversations"];

export function Conversations({ place }: { place: Place }) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const list = useQuery({ queryKey: conversationsKey(place.agentId), queryFn: () => listConversations(place.agentId) });
  const [isRenaming, setRenaming] = useState(false);
  const here = list.data?.find((each) => each.id === place.conversation);
  const open = (id: string | null) => navigate(id ? paths.conversation(place.agentId, id) : paths.agent(place.agentId));
  const change = async (work: Promise<unknown>, failed: string) => {
    try {
      await work;
      await queries.invalidateQueries({ queryKey: conversationsKey(place.agentId) });
      return true;
    } catch (error) {
      toast(`${failed} ${describe(error)}`, { tone: "bad" });
      return false;
    }
  };
  const start = async () => {
    const made = createConversation(place.agentId, null);
    if (await change(made, "No conversation was started.")) open((await made).id);
  };
  const remove = async () => {
    if (here && (await change(deleteConversation(here.id), "The conversation was not deleted."))) open(null);
  };
  useCommands([
    { id: "new conversation", group: "This agent", label: "New conversation", icon: "plus", run: () => void start() },
    ...(list.data ?? []).map((each) => ({ id: each.id, group: "Conversations", label: nameOf(each), icon: "chat" as const, hint: when(each.last_message_at ?? each.created_at), run: () => open(each.id) })),
  ]);
  return (
    <>
      <Menu
        label={`Conversation: ${here ? nameOf(here) : "Main history"}`}
        className="btn quiet strong"
        items={[
          { label: "Main history", checked: place.conversation === null, run: () => open(null) },
          ...(list.data ?? []).map((each) => ({ label: nameOf(each), checked: each.id === place.conversation, hint: when(each.last_message_at ?? each.created_at), run: () => open(each.id) })),
        ]}
      >
        <Icon name="chat" size={14} />
        <span className="cut">{place.conversation ? (here ? nameOf(here) : "Conversation") : "Main history"}</span>
        <Icon name="down" size={12} />
      </Menu>
      {here && (
        <Menu label="This conversation" className="icon sm" items={[{ label: "Rename", icon: "pencil", run: () => setRenaming(true) }, { label: "Delete", icon: "x", danger: true, run: () => void remove() }]}>
          <Icon name="dots" />
        </Menu>
      )}
      <span className="end" />
      <button className="btn sm" aria-label="New conversation" onClick={() => void start()}>
        <Icon name="plus" size={14} />
        <span className="long">New conversation</span>
      </button>
      {isRenaming && here && (
        <Dialog label="Rename the conversation" onClose={() => setRenaming(false)}>
          <form
            className="body row"
            onSubmit={(event) => {
              event.preventDefault();
              const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
              if (name) void change(renameConversation(here.id, name), "Not renamed.").then(() => setRenaming(false));
            }}
          >
            <label className="field grow"><input name="name" aria-label="Name" defaultValue={here.summary ?? ""} autoFocus /></label>
            <button className="btn primary">Rename</button>
          </form>
        </Dialog>
      )}
    </>
  );
}

function nameOf(conversation: { summary: string | null; created_at: string }): string {
  return conversation.summary?.split("\n")[0]?.slice(0, 60) || `Conversation of ${when(conversation.created_at)}`;
}
