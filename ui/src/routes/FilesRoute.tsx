import { usePage } from "@/components/usePage";
import { FolderTable } from "@/features/files/FolderTable";

export default function FilesRoute() {
  usePage("Files");
  return (
    <main id="main" className="page" tabIndex={-1}>
      <FolderTable />
    </main>
  );
}
