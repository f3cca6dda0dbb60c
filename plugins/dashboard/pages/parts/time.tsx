/** Times that stay current. @module */
import { useEffect, useState } from "preact/hooks";
import { second } from "../live/clock.ts";
import { dateAndTime, formatDuration, formatUtc, relativeTime } from "../../shared/format.ts";

interface TimeProps {
  /** Unix milliseconds. */
  readonly at: number;
  /** Server time of the document, for the first drawing. */
  readonly now: number;
}

/** The time in the zone of the reader, known once the page is in use. */
function useLocalTime(at: number): string {
  const [local, setLocal] = useState(formatUtc(at));
  useEffect(() => setLocal(dateAndTime(at)), [at]);
  return local;
}

/** "3 min ago", with the exact time as its tooltip. */
export function Ago({ at, now }: TimeProps) {
  return (
    <time dateTime={new Date(at).toISOString()} title={useLocalTime(at)}>
      {relativeTime(at, Math.max(second.value, now))}
    </time>
  );
}

/** How long something has lasted, for example "6 d 4 h". */
export function Since({ at, now }: TimeProps) {
  return (
    <time dateTime={new Date(at).toISOString()} title={useLocalTime(at)}>
      {formatDuration(Math.max(second.value, now) - at)}
    </time>
  );
}
