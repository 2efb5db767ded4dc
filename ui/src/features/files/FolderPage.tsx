/* One folder: its files and how far they have been read, and who reads them. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { searchAgents } from "@/api/agents";
import { describe } from "@/api/errors";
import { attachFolder, changeFolder, deleteFolder, detachFolder, type Folder, folderQuery, readersQuery } from "@/api/folders";
import { ConfirmButton } from "@/components/ConfirmButton";
import { CopyButton, Select } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { FileList } from "@/features/files/FileList";
import { plural, shortId } from "@/lib/format";
import { toast } from "@/lib/toasts";

export function FolderPage({ id }: { id: string }) {
  const found = useQuery(folderQuery(id));
  if (found.isPending) return <Loading lines={4} />;
  if (found.error) return <div className="wrap"><Failure what="This folder cannot be read." error={found.error} onRetry={() => void found.refetch()} /><p className="backline"><Link href={paths.files}>All folders</Link></p></div>;
  return <Shown folder={found.data} />;
}

function Shown({ folder }: { folder: Folder }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const change = useMutation({
    mutationFn: (changes: Partial<Folder>) => changeFolder(folder.id, changes),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["folder", folder.id] });
      void queries.invalidateQueries({ queryKey: ["folders"] });
      toast("Saved.");
    },
    onError: (error) => toast(`Not saved. ${describe(error)}`, { tone: "bad" }),
  });
  const remove = useMutation({
    mutationFn: () => deleteFolder(folder.id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["folders"] });
      navigate(paths.files);
      toast(`${folder.name} and its files are deleted.`);
    },
    onError: (error) => toast(`Not deleted. ${describe(error)}`, { tone: "bad" }),
  });
  return (
    <div className="wrap folderpage">
      <nav className="crumbs" aria-label="Where this is"><Link href={paths.files}>Files</Link><Icon name="right" size={12} /><b>{folder.name}</b></nav>
      <div className="pagehead">
        <h1>{folder.name}</h1>
        <span className="mono small mut">{shortId(folder.id)}</span><CopyButton text={folder.id} label="Copy id" />
        <span className="end" />
        <ConfirmButton className="btn bad" question="Delete it with its files?" disabled={remove.isPending} onConfirm={() => remove.mutate()}>Delete</ConfirmButton>
      </div>
      <div className="blockcols">
        <FileList folderId={folder.id} />
        <div className="side">
          <div className="panel">
            <h2>What agents are told of it</h2>
            <Words label="What is in it" value={folder.description} onSave={(description) => change.mutate({ description })} />
            <Words label="How to use it" value={folder.instructions} onSave={(instructions) => change.mutate({ instructions })} />
          </div>
          <Readers folder={folder} />
        </div>
      </div>
    </div>
  );
}

function Words({ label, value, onSave }: { label: string; value: string | null; onSave: (text: string) => void }) {
  const [text, setText] = useState(value ?? "");
  useEffect(() => setText(value ?? ""), [value]);
  return <textarea className="field" rows={2} aria-label={label} placeholder={label} value={text} onChange={(event) => setText(event.target.value)} onBlur={() => text !== (value ?? "") && onSave(text)} />;
}

function Readers({ folder }: { folder: Folder }) {
  const queries = useQueryClient();
  const readers = useQuery(readersQuery(folder.id));
  const agents = useQuery({ queryKey: ["agents", "choice"], queryFn: () => searchAgents("", 200), staleTime: 30_000 });
  const [agent, setAgent] = useState("");
  const change = useMutation({
    mutationFn: ({ id, on }: { id: string; on: boolean }) => (on ? attachFolder(id, folder.id) : detachFolder(id, folder.id)),
    onSuccess: (_, { id }) => {
      setAgent("");
      void queries.invalidateQueries({ queryKey: ["folder", folder.id, "agents"] });
      void queries.invalidateQueries({ queryKey: ["agent", id] });
    },
  });
  const nameOf = (id: string) => agents.data?.find((each) => each.id === id)?.name ?? shortId(id);
  return (
    <div className="panel">
      <h2>Read by {readers.data ? (readers.data.length ? plural(readers.data.length, "agent") : "nobody") : "…"}</h2>
      <ul className="plainlist">
        {readers.data?.map((id) => <li key={id}><Icon name="agent" size={14} className="mut" /><Link href={paths.agent(id)} className="cut">{nameOf(id)}</Link><button className="btn sm quiet end" disabled={change.isPending} onClick={() => change.mutate({ id, on: false })}>Detach</button></li>)}
      </ul>
      <div className="row give">
        <Select label="Agent" icon="agent" value={agent} options={[["", "Give it to…"], ...(agents.data ?? []).filter((each) => !readers.data?.includes(each.id)).map((each) => [each.id, each.name] as const)]} onChange={setAgent} />
        <button className="btn" disabled={!agent || change.isPending} onClick={() => change.mutate({ id: agent, on: true })}>Attach</button>
      </div>
      {change.error && <Failure what="Not changed." error={change.error} />}
    </div>
  );
}
