import { usePage } from "@/components/usePage";
import { BlockTable } from "@/features/blocks/BlockTable";

export default function BlocksRoute() {
  usePage("Blocks");
  return (
    <main id="main" className="page" tabIndex={-1}>
      <BlockTable />
    </main>
  );
}
