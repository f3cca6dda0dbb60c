/** What a line that is no message was meant to answer. */
export interface IntendedTarget {
  /** A message it was given. */
  readonly request?: string | undefined;
  /** One of its own, which grew. */
  readonly message?: string | undefined;
}

type FieldMap = Readonly<Record<string, unknown>>;
const asFields = (value: unknown): FieldMap | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as FieldMap)
    : undefined;
/** A number is a slip that is easily made. */
const nameOf = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined;

const kinds: readonly unknown[] = ["message.create", "message.update", "error", undefined];

/** Whoever waits for this answer waits for nothing. What comes on the way to an answer is none. */
export function intendedTarget(value: unknown): IntendedTarget {
  const line = asFields(value);
  if (!line || !kinds.includes(line["type"])) return {};
  const payload = asFields(line["payload"]) ?? line;
  const isOnTheWay = payload["final"] === false || payload["placeholder"] === true;
  if (payload["kind"] !== undefined || isOnTheWay) return {};
  if (line["type"] !== "message.update")
    return { request: nameOf(payload["request_id"] ?? line["request_id"]) };
  return payload["final"] === undefined ? {} : { message: nameOf(payload["message_id"]) };
}

/** The same of a line that is too long, from its beginning. A quotation mark inside a text has a backslash. */
export function intendedTargetOfPrefix(text: string): IntendedTarget {
  if (/(?<!\\)"(?:kind"|final"\s*:\s*false|placeholder"\s*:\s*true)/.test(text)) return {};
  return { request: /(?<!\\)"request_id"\s*:\s*"([^"\\]+)"/.exec(text)?.[1] };
}
