// Finds the session and the message id of a request.
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isSessionId } from "../../lib/pico-wire/index.ts";
import { Refusal } from "../doors/index.ts";
import { unsupported } from "./fields.ts";

const sessionHeaders = ["x-doorward-session", "x-openwebui-chat-id", "x-conversation-id"];
const maxHeaderBytes = 256;

/** Reads a header as UTF-8. Empty headers count as absent. */
export function readHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const bytes = Buffer.from(value.trim(), "latin1");
  if (bytes.byteLength > maxHeaderBytes) {
    const message = `The header ${name} may have at most ${maxHeaderBytes} bytes.`;
    throw unsupported(name, message);
  }
  return bytes.toString("utf8");
}

export interface RequestIds {
  /** The name that the client gave, or a new one. */
  readonly name: string;
  /** The session of the channel: the name, with the prefix of the protocol. */
  readonly session: string;
  readonly messageId: string;
  /** True if the client may repeat the request with the same key. */
  readonly isRepeatable: boolean;
}

interface RequestIdOptions {
  readonly user: string | undefined;
  readonly isShared: boolean;
  readonly newId: () => string;
  /** Name of the session of an earlier response. */
  readonly known?: string | undefined;
}

const digest = (text: string): string => hash("sha256", text, "hex").slice(0, 32);

/** @throws Refusal if the name of the session is not valid. */
export function readIds(
  request: IncomingMessage,
  { user, isShared, newId, known }: RequestIdOptions,
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
  const name = known ?? given ?? (key === undefined ? newId() : digest(key));
  const session = isShared ? name : `openai/${name}`;
  if (!isSessionId(session)) {
    const message = "The session name may have at most 249 bytes, without control characters.";
    throw unsupported(param, message);
  }
  const messageId = `oa:${key === undefined ? newId() : digest(key)}`;
  return { name, session, messageId, isRepeatable: key !== undefined };
}

/** Bridges that the request has crossed. */
export function readHops(request: IncomingMessage): number {
  const text = readHeader(request, "x-doorward-hops") ?? "0";
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new Refusal("loop", "X-Doorward-Hops must be a number.");
}

/** Header values are Latin-1, names are UTF-8. */
export const toHeaderText = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
