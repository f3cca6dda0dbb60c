import { formatCursor } from "../pico-wire/index.ts";
import type { ResumePoint } from "./types.ts";

/** The address with what the link adds. Names that stand in it already are kept, `resume` and `conn` are ours. */
export function dialUrl(
  address: string,
  sessionId: string,
  resume: ResumePoint | undefined,
): string {
  const url = new URL(address);
  url.protocol = url.protocol.replace(/^http/, "ws");
  const { searchParams } = url;
  if (!searchParams.has("session_id")) searchParams.set("session_id", sessionId);
  if (!searchParams.has("pico_ext")) searchParams.set("pico_ext", "1");
  if (resume) {
    searchParams.set("resume", formatCursor(resume.cursor));
    searchParams.set("conn", resume.conn);
  }
  return url.href;
}

/** The address for plain requests. */
export const httpUrl = (address: string): string => new URL(address).href.replace(/^ws/, "http");

/** Seconds or a date, as `Retry-After` has it, in milliseconds. */
export function retryAfterMs(header: string | null | undefined, now: number): number | undefined {
  if (!header) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return ms >= 0 ? ms : undefined;
}
