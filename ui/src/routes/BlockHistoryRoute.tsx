import { useParams } from "wouter";
import { usePage } from "@/components/usePage";
import { HistoryPage } from "@/features/memory-history/HistoryPage";

export default function BlockHistoryRoute() {
  usePage("Memory history");
  const { id = "" } = useParams<{ id: string }>();
  return <HistoryPage key={id} id={id} />;
}
