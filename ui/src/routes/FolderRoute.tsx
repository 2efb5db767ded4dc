import { useParams } from "wouter";
import { usePage } from "@/components/usePage";
import { FolderPage } from "@/features/files/FolderPage";

export default function FolderRoute() {
  usePage("Folder");
  const { id = "" } = useParams<{ id: string }>();
  return (
    <main id="main" className="page" tabIndex={-1}>
      <FolderPage key={id} id={id} />
    </main>
  );
}
