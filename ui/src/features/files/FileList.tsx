/* The files of a folder; more are dropped onto it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type DragEvent, useRef, useState } from "react";
import { describe } from "@/api/errors";
import { deleteFile, filesQuery, type FolderFile, isInWork, uploadFile } from "@/api/folders";
import { ConfirmButton } from "@/components/ConfirmButton";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { Loading } from "@/components/Loading";
import { bytes, count, UNKNOWN } from "@/lib/format";
import { toast } from "@/lib/toasts";

export function FileList({ folderId }: { folderId: string }) {
  const queries = useQueryClient();
  const files = useQuery(filesQuery(folderId));
  const picker = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const [sending, setSending] = useState<readonly string[]>([]);
  const reload = () => queries.invalidateQueries({ queryKey: ["folder", folderId, "files"] });
  const take = async (given: readonly File[]) => {
    setSending((now) => [...now, ...given.map((file) => file.name)]);
    // One by one: each is told of by itself, and none holds up the server.
    for (const file of given) {
      try {
        await uploadFile(folderId, file);
      } catch (error) {
        toast(`${file.name} was not taken. ${describe(error)}`, { tone: "bad" });
      }
      setSending((now) => now.filter((_, at) => at !== now.indexOf(file.name)));
      await reload();
    }
  };
  const remove = async (file: FolderFile) => {
    try {
      await deleteFile(folderId, file.id);
    } catch (error) {
      toast(`Not deleted. ${describe(error)}`, { tone: "bad" });
    }
    await reload();
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take([...event.dataTransfer.files]);
  };
  return (
    <div>
      <div className={`dropzone ${isOver ? "over" : ""}`} onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={drop}>
        <Icon name="plus" size={14} /><span>Drop files here, or</span>
        <button className="btn sm" onClick={() => picker.current?.click()}>Choose files</button>
        <input ref={picker} type="file" multiple hidden aria-label="Files to upload" onChange={(event) => { void take([...(event.target.files ?? [])]); event.target.value = ""; }} />
      </div>
      {files.error && <Failure what="The files cannot be read." error={files.error} onRetry={() => void files.refetch()} />}
      {files.isPending && <Loading lines={3} />}
      {(!!files.data?.length || !!sending.length) && (
        <div className="panel">
          <table className="table filetable">
            <thead><tr><th>File</th><th>State</th><th className="r">Size</th><th className="r">Passages</th><th /></tr></thead>
            <tbody>
              {sending.map((name, at) => <tr key={`${name} ${at}`}><td className="name"><span className="cut">{name}</span></td><td className="mut">on its way</td><td className="r">{UNKNOWN}</td><td className="r">{UNKNOWN}</td><td /></tr>)}
              {files.data?.map((file) => <FileRow key={file.id} file={file} onRemove={() => void remove(file)} />)}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function FileRow({ file, onRemove }: { file: FolderFile; onRemove: () => void }) {
  const done = file.total_chunks ? (file.chunks_embedded ?? 0) / file.total_chunks : 0;
  return (
    <tr>
      <td className="name"><span className="cut" title={file.file_name}>{file.file_name}</span></td>
      <td>
        {file.processing_status === "completed" && <span className="ok row"><Icon name="check" size={12} />read</span>}
        {file.processing_status === "error" && <span className="danger">{file.error_message ?? "It could not be read."}</span>}
        {isInWork(file) && <span className="row" role="status">{file.processing_status === "embedding" ? <><span className="meter"><i style={{ width: `${Math.round(done * 100)}%` }} /></span>{Math.round(done * 100)} %</> : "being read"}</span>}
      </td>
      <td className="r nowrap">{file.file_size === null ? UNKNOWN : bytes(file.file_size)}</td>
      <td className="r nowrap">{count(file.total_chunks)}</td>
      <td className="r"><ConfirmButton className="btn sm quiet" question="Delete it?" onConfirm={onRemove}>Delete</ConfirmButton></td>
    </tr>
  );
}
