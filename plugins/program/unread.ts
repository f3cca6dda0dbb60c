/** What a line that is no message was meant to answer. */
export interface Meant {
  /** A message it was given. */
  readonly request?: string | undefined;
  /** One of its own, which grew. */
  readonly message?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;
/** A number is a slip that is easily made. */
const nameOf = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined;

const kinds: readonly unknown[] = ["message.create", "message.update", "error", undefined];

/** Whoever waits for this answer waits for nothing. What comes on the way to an answer is none. */
export function meantBy(value: unknown): Meant {
  const line = fieldsOf(value);
  if (!line || !kinds.includes(line["type"])) return {};
  const payload = fieldsOf(line["payload"]) ?? line;
  const isOnTheWay = payload["final"] === false || payload["placeholder"] === true;
  if (payload["kind"] !== undefined || isOnTheWay) return {};
  if (line["type"] !== "message.update")
    return { request: nameOf(payload["request_id"] ?? line["request_id"]) };
  return payload["final"] === undefined ? {} : { message: nameOf(payload["message_id"]) };
}

/** The same of a line that is too long, from its beginning. A quotation mark inside a text has a backslash. */
export function meantByBeginning(text: string): Meant {
  if (/(?<!\\)"(?:kind"|final"\s*:\s*false|placeholder"\s*:\s*true)/.test(text)) return {};
  return { request: /(?<!\\)"request_id"\s*:\s*"([^"\\]+)"/.exec(text)?.[1] };
}
