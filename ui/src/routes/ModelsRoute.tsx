import { usePage } from "@/components/usePage";
import { ModelsPage } from "@/features/models/ModelsPage";

export default function ModelsRoute() {
  usePage("Models");
  return (
    <main id="main" className="page" tabIndex={-1}>
      <ModelsPage />
    </main>
  );
}
