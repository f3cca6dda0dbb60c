// Finds the session and the message id of a request.
import type { IncomingMessage } from "node:http";
import { readHeader, shortDigest } from "../session.ts";

const sessionHeaders = ["x-doorward-session", "x-openwebui-chat-id", "x-conversation-id"];

export interface RequestIds {
  /** The name that the client gave, or a new one. */
  readonly name: string;
  /** The field or header that contains the name. */
  readonly param: string;
  readonly messageId: string;
  /** True if neither the client nor an earlier response names the session. */
  readonly isNew: boolean;
  /** True if the client may repeat the request with the same key. */
  readonly isRepeatable: boolean;
  /** Finds the request if its library repeats it on its own. */
  readonly key?: string;
}

interface RequestIdOptions {
  readonly user: string | undefined;
  readonly newId: () => string;
  /** Name of the session of an earlier response. */
  readonly known?: string | undefined;
  /** Name of the session that asked for the results of the request. */
  readonly asked?: string | undefined;
}

export function readIds(
  request: IncomingMessage,
  { user, newId, known, asked }: RequestIdOptions,
): RequestIds {
  const key = readHeader(request, "idempotency-key");
  let param = "user";
  let given = user || undefined;
  for (const header of sessionHeaders.toReversed()) {
    const value = readHeader(request, header);
    if (value === undefined) continue;
    given = value;
    param = header;
  }
  const named = known ?? given ?? asked ?? (key === undefined ? undefined : shortDigest(key));
  const [name, isNew] = [named ?? newId(), named === undefined];
  const messageId = `oa:${key === undefined ? newId() : shortDigest(key)}`;
  return { name, param, isNew, messageId, isRepeatable: key !== undefined };
}
