/* Ctrl K: the commands of the page, then agents to open. What destroys asks here first. */
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useId, useState } from "react";
import { useLocation } from "wouter";
import { searchAgents } from "@/api/agents";
import { listBlocks } from "@/api/blocks";
import { toolsQuery } from "@/api/tools";
import { type Command, commandLayers, score } from "@/components/commands";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { closeOverlay } from "@/features/shell/overlays";
import { showKeys } from "@/lib/keys";
import { useStore } from "@/lib/store";

const SHOWN = 40;

export function Palette() {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const [asking, setAsking] = useState<Command | null>(null);
  const listId = useId();
  const found = useFound(query);
  const chosen = found[Math.min(at, found.length - 1)];
  useEffect(() => setAt(0), [query]);
  useEffect(() => {
    document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: "nearest" }); // newer browsers return a promise
  }, [at, listId]);

  const run = (command: Command | undefined) => {
    if (!command) return;
    if (command.confirm && asking !== command) return setAsking(command);
    closeOverlay();
    command.run();
  };

  return (
    <Dialog label="Search or run a command" className="pal" hasHead={false} onClose={closeOverlay}>
      <div className="q">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={chosen ? `${listId}-${found.indexOf(chosen)}` : undefined}
          aria-label="Search or run a command"
          placeholder="Type a command, or the name of an agent, block or tool"
          autoFocus
          value={query}
          onChange={(event) => {
            setAsking(null);
            setQuery(event.target.value);
          }}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step !== undefined) {
              event.preventDefault();
              setAt((now) => Math.max(0, Math.min(found.length - 1, now + step)));
            } else if (event.key === "Enter") {
              event.preventDefault();
              run(asking ?? chosen);
            }
          }}
        />
      </div>
      <ul className="results" role="listbox" id={listId} aria-label="Commands">
        {found.map((command, index) => [
          command.group !== found[index - 1]?.group && <li key={`${command.group} head`} className="grp" role="presentation">{command.group}</li>,
          <li key={command.id} id={`${listId}-${index}`} role="option" aria-selected={command === chosen} onClick={() => run(command)} onPointerMove={() => setAt(index)}>
            <Icon name={command.icon} size={14} />
            <span className="cut">{asking === command ? <b className="danger">{command.confirm} Enter does it.</b> : command.label}</span>
            <span className="rt">{command.keys ? <kbd>{showKeys(command.keys)}</kbd> : command.hint}</span>
          </li>,
        ])}
        {!found.length && <li role="presentation" className="mut">Nothing matches “{query}”</li>}
      </ul>
      <div className="ft">
        <span><kbd>↑</kbd> <kbd>↓</kbd> choose</span>
        <span><kbd>Enter</kbd> open or run</span>
        <span><kbd>Esc</kbd> close</span>
      </div>
    </Dialog>
  );
}

function useFound(query: string): Command[] {
  const [, navigate] = useLocation();
  const commands = useStore(commandLayers).flat();
  const later = useDeferredValue(query);
  const agents = useQuery({ queryKey: ["agents", "palette", later], queryFn: () => searchAgents(later), placeholderData: (old) => old });
  const matching = commands.map((command) => ({ command, points: score(command.label, query) })).filter((each) => each.points > 0);
  if (query) matching.sort((a, b) => b.points - a.points);
  const opened: Command[] = (agents.data ?? []).map((agent) => ({
    id: agent.id,
    group: "Agents",
    label: agent.name,
    icon: "agent",
    hint: agent.model ?? "",
    run: () => navigate(paths.agent(agent.id)),
  }));
  opened.push(...useThings(later));
  const groups = [...new Set(matching.map((each) => each.command.group))];
  const grouped = groups.flatMap((group) => matching.filter((each) => each.command.group === group).map((each) => each.command));
  const bestAgent = Math.max(0, ...opened.map((each) => score(each.label, query)));
  const bestCommand = Math.max(0, ...matching.map((each) => each.points));
  return (query && bestAgent > bestCommand ? [...opened, ...grouped] : [...grouped, ...opened]).slice(0, SHOWN);
}

/** Blocks and tools that are called so. */
function useThings(query: string): Command[] {
  const [, navigate] = useLocation();
  const isAsked = query.trim().length > 1;
  const blocks = useQuery({ queryKey: ["blocks", "all", query], queryFn: () => listBlocks("all", query), enabled: isAsked });
  const tools = useQuery({ ...toolsQuery, enabled: isAsked });
  if (!isAsked) return [];
  const open = (id: string, group: string, label: string, icon: Command["icon"], path: string): Command => ({ id, group, label, icon, run: () => navigate(path) });
  return [
    ...(blocks.data ?? []).slice(0, 6).map((each) => open(each.id, "Blocks", each.label, "block", paths.block(each.id))),
    ...(tools.data ?? []).filter((each) => score(each.name, query) >= 40).slice(0, 6).map((each) => open(each.id, "Tools", each.name, "tool", paths.tool(each.id))),
  ];
}
