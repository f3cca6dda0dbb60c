import { closeCodes, type ClientAction, type CloseName } from "./reasons.ts";

/** What a received close means. `name` is undefined for codes and names this version does not know. */
export interface ReceivedClose {
  readonly name: CloseName | undefined;
  readonly client: ClientAction;
  /** Milliseconds to wait, when the server named them. */
  readonly retryMs: number | undefined;
}

const closeRows = Object.entries(closeCodes) as [
  CloseName,
  { code: number; client: ClientAction },
][];
/** Said by the library, which knows no names. */
const codesWithoutReason: readonly CloseName[] = [
  "protocol_error",
  "unsupported_data",
  "invalid_data",
];

/** The text of a close frame: `<name>` or `<name>; retry=<ms>`; empty where the code says it all. */
export function closeReason(name: CloseName, retryMs?: number): string {
  if (codesWithoutReason.includes(name)) return "";
  return retryMs === undefined ? name : `${name}; retry=${Math.max(0, Math.round(retryMs))}`;
}

export function parseCloseReason(text: string): { name: string; retryMs: number | undefined } {
  const retry = /;\s*retry=(\d{1,9})\b/.exec(text)?.[1];
  return {
    name: text.replace(/;.*/s, "").trim(),
    retryMs: retry === undefined ? undefined : Number(retry),
  };
}

/** The row for a close as it was received. Codes of nobody's table, 1006 among them, mean: retry. */
export function interpretClose(code: number, reason = ""): ReceivedClose {
  const { name, retryMs } = parseCloseReason(reason);
  const candidates = closeRows.filter(([, row]) => row.code === code);
  const row = candidates.find(([known]) => known === name) ?? candidates[0];
  return { name: row?.[0], client: row?.[1].client ?? "retry", retryMs };
}
