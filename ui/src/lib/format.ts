/* Numbers, sizes, times and money as the interface writes them. An unknown is "–", never 0. */

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
export const UNKNOWN = "–";

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : whole.format(value);
}

/** 412 ms, 2.6 s, 3 min 4 s. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return UNKNOWN;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function fromNs(ns: number | null | undefined): number | null {
  return ns === null || ns === undefined ? null : ns / 1e6;
}

export function money(dollars: number | null | undefined): string {
  if (dollars === null || dollars === undefined) return UNKNOWN;
  if (dollars === 0) return "$0";
  const digits = dollars >= 1 ? 2 : dollars >= 0.001 ? 3 : 5;
  return `$${dollars.toFixed(digits)}`;
}

export function share(part: number, all: number): string {
  return all > 0 ? `${Math.round((part / all) * 100)} %` : UNKNOWN;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1024 ** 2) return `${Math.round(value / 1024)} KB`;
  return `${(value / 1024 ** 2).toFixed(1)} MB`;
}

const DAY_MS = 86_400_000;

/** 09:12 today, "yesterday 21:40", "tomorrow 07:00", "Fri 20:51" within a week, then "6 Nov", with the year when it is another. */
export function when(moment: string | Date | null | undefined, now: Date = new Date()): string {
  if (!moment) return UNKNOWN;
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return UNKNOWN;
  const clock = at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const midnight = (day: Date) => new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime();
  const days = Math.round((midnight(now) - midnight(at)) / DAY_MS);
  if (days === 0) return clock;
  if (days === 1) return `yesterday ${clock}`;
  if (days === -1) return `tomorrow ${clock}`;
  if (Math.abs(days) < 7) return `${at.toLocaleDateString("en-GB", { weekday: "short" })} ${clock}`;
  const options: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  if (at.getFullYear() !== now.getFullYear()) options.year = "numeric";
  return at.toLocaleDateString("en-GB", options);
}

/** The whole truth, for hovering. */
export function exactly(moment: string | Date | null | undefined): string {
  return moment ? new Date(moment).toLocaleString("en-GB", { dateStyle: "full", timeStyle: "medium" }) : "";
}

export function shortId(id: string): string {
  const [kind, rest = ""] = [id.slice(0, id.indexOf("-")), id.slice(id.indexOf("-") + 1)];
  return rest.length > 10 ? `${kind}-${rest.slice(0, 4)}…${rest.slice(-4)}` : id;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
