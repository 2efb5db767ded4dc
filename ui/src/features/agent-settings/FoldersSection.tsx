/* The folders that the agent reads, and which of their files are open. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { Agent } from "@/api/agents";
import { agentFilesQuery, agentFoldersQuery, attachFolder, detachFolder, foldersQuery, setOpen } from "@/api/folders";
import { Select } from "@/components/controls";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Section } from "@/features/agent-settings/Section";
import type { Saving } from "@/features/agent-settings/useSaving";

export function FoldersSection({ agent, saving }: { agent: Agent; saving: Saving }) {
  const [choice, setChoice] = useState("");
  const held = useQuery(agentFoldersQuery(agent.id));
  const files = useQuery(agentFilesQuery(agent.id));
  const all = useQuery({ ...foldersQuery(), staleTime: 30_000 });
  const save = (work: () => Promise<unknown>) => saving.run("Files", work);
  const open = files.data?.filter((file) => file.is_open).length ?? 0;
  const free = (all.data ?? []).filter((folder) => !held.data?.some((other) => other.id === folder.id));
  return (
    <Section name="Files" value={held.data?.length ? `${open} of ${files.data?.length ?? 0} open` : "none"} isSaved={saving.saved === "Files"}>
      {held.data?.map((folder) => (
        <div key={folder.id}>
          <div className="row"><Link href={paths.folder(folder.id)} className="cut">{folder.name}</Link><button className="icon sm end" aria-label={`Detach ${folder.name}`} onClick={() => void save(() => detachFolder(agent.id, folder.id))}><Icon name="x" size={12} /></button></div>
          <ul className="toollist">
            {files.data?.filter((file) => file.folder_id === folder.id).map((file) => (
              <li key={file.id}>
                <span className="cut grow" title={file.file_name}>{file.file_name.slice(folder.name.length + 1)}</span>
                {file.is_open && file.start_line !== null && <span className="tag">lines {file.start_line} to {file.end_line}</span>}
                <button className="btn sm quiet" aria-label={`${file.is_open ? "Close" : "Open"} ${file.file_name}`} onClick={() => void save(() => setOpen(agent.id, file.file_id, !file.is_open))}>{file.is_open ? "Close" : "Open"}</button>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {!held.data?.length && <p className="small mut">No folders. <Link href={paths.files}>Put files into one</Link>, and the agent can open and search them.</p>}
      {!!free.length && (
        <div className="row">
          <Select label="Folder" value={choice} options={[["", "Give it a folder…"], ...free.map((folder) => [folder.id, folder.name] as const)]} onChange={setChoice} />
          <button className="btn sm" disabled={!choice} onClick={() => void save(() => attachFolder(agent.id, choice)).then((done) => done && setChoice(""))}>Attach</button>
        </div>
      )}
    </Section>
  );
}
