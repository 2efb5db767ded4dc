import { useEffect } from "react";
import { crumb, type Crumb } from "@/components/links";

/** The title of the page, in the window and on a phone's header. */
export function usePage(title: string, tag?: Crumb["tag"]): void {
  const text = tag?.text;
  const tone = tag?.tone;
  useEffect(() => {
    document.title = `${title} · Remanence`;
    crumb.set(text && tone ? { title, tag: { text, tone } } : { title });
  }, [title, text, tone]);
}
