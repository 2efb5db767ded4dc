import { useParams } from "wouter";
import { usePage } from "@/components/usePage";
import { BlockPage } from "@/features/blocks/BlockPage";

export default function BlockRoute() {
  usePage("Block");
  const { id = "" } = useParams<{ id: string }>();
  return (
    <main id="main" className="page" tabIndex={-1}>
      <BlockPage key={id} id={id} />
    </main>
  );
}
