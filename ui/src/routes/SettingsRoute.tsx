import { usePage } from "@/components/usePage";
import { SettingsPage } from "@/features/settings/SettingsPage";

export default function SettingsRoute() {
  usePage("Settings");
  return (
    <main id="main" className="page" tabIndex={-1}>
      <SettingsPage />
    </main>
  );
}
