/* All folders, what is in them, and who reads them. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { createFolder, filesQuery, type Folder, foldersQuery, isInWork, readersQuery } from "@/api/folders";
import { useCommands } from "@/components/commands";
import { Dialog } from "@/components/Dialog";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Empty } from "@/components/Note";
import { exactly, plural, when } from "@/lib/format";
import { useKeys } from "@/lib/keys";

export function FolderTable() {
  const [isAdding, setAdding] = useState(false);
  const list = useQuery(foldersQuery());
  useKeys([{ group: "Files", keys: "n f", label: "New folder", run: () => setAdding(true) }]);
  useCommands([{ id: "new folder", group: "Here", label: "New folder", icon: "plus", keys: "n f", run: () => setAdding(true) }]);
  return (
    <div className="wrap">
      <div className="pagehead">
        <h1>Files</h1>
        <span className="mut">folders of papers that agents can open and search</span>
        <span className="end" />
        <button className="btn primary" onClick={() => setAdding(true)}><Icon name="plus" size={14} />New folder</button>
      </div>
      {list.error && <Failure what="The folders cannot be read." error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading lines={4} />}
      {list.data && !list.data.length && (
        <Empty title="No folders yet" action={<button className="btn" onClick={() => setAdding(true)}>New folder</button>}>Put files into a folder, give it to an agent, and it reads them.</Empty>
      )}
      {!!list.data?.length && (
        <div className="panel">
          <table className="table foldertable">
            <thead><tr><th>Folder</th><th>What is in it</th><th>Files</th><th>Read by</th><th className="r">Made</th></tr></thead>
            <tbody>{list.data.map((folder) => <FolderRow key={folder.id} folder={folder} />)}</tbody>
          </table>
        </div>
      )}
      {isAdding && <NewFolder onClose={() => setAdding(false)} />}
    </div>
  );
}

function FolderRow({ folder }: { folder: Folder }) {
  const [, navigate] = useLocation();
  const files = useQuery(filesQuery(folder.id));
  const readers = useQuery(readersQuery(folder.id));
  const working = files.data?.filter(isInWork).length ?? 0;
  return (
    <tr className="opens" onClick={() => navigate(paths.folder(folder.id))}>
      <td className="nowrap"><Link href={paths.folder(folder.id)} onClick={(event) => event.stopPropagation()}>{folder.name}</Link></td>
      <td className="text dim"><span className="cut">{folder.description}</span></td>
      <td className="nowrap">{files.data && plural(files.data.length, "file")}{working > 0 && <span className="mut">, {working} being read</span>}</td>
      <td className="nowrap">{readers.data && (readers.data.length ? plural(readers.data.length, "agent") : <span className="mut">nobody</span>)}</td>
      <td className="r nowrap" title={exactly(folder.created_at)}>{when(folder.created_at)}</td>
    </tr>
  );
}

function NewFolder({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const make = useMutation({
    mutationFn: () => createFolder({ name: name.trim(), description: description.trim() || null }),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["folders"] });
      navigate(paths.folder(made.id));
    },
  });
  return (
    <Dialog label="New folder" onClose={onClose}>
      <form onSubmit={(event) => { event.preventDefault(); make.mutate(); }}>
        <div className="body form">
          <label><span className="formlab">Name</span><span className="field"><input autoFocus required value={name} placeholder="garden" onChange={(event) => setName(event.target.value)} /></span></label>
          <label><span className="formlab">What is in it <span className="mut">agents read this too</span></span><span className="field"><input value={description} placeholder="Plans and bills of the garden" onChange={(event) => setDescription(event.target.value)} /></span></label>
          {make.error && <Failure what="Not made." error={make.error} />}
        </div>
        <div className="foot"><button className="btn primary" disabled={!name.trim() || make.isPending}>{make.isPending ? "Making…" : "Make the folder"}</button><button type="button" className="btn quiet" onClick={onClose}>Cancel</button></div>
      </form>
    </Dialog>
  );
}
