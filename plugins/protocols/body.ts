// Reads the JSON body of a request within limits on size, time, memory, depth and values.
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import { parseObject } from "../../lib/pico-wire/index.ts";
import { bodyType, readBody } from "../http/kit.ts";
import type { PicoProtocol } from "../pico-server/index.ts";
import { refuse, type Refusal } from "./refusal.ts";

interface BodyOptions {
  /** Whether the digest of the body is needed. @defaultValue `false` */
  readonly isDigested?: boolean;
  readonly maxBytes: number;
  readonly clock: Clock;
  /** The memory budget of messages that the application has not accepted. */
  readonly memory: ReturnType<PicoProtocol["body"]>;
}

/** A parsed body. */
export interface JsonBody {
  readonly value: Readonly<Record<string, unknown>>;
  /** SHA-256 of the bytes; undefined unless it is needed. */
  readonly digest: string | undefined;
  /** Gives the memory back. Call it once the application has accepted or rejected the message. */
  release(): void;
}

function assertType(request: IncomingMessage): void {
  const type = bodyType(request);
  if (type === "application/json") return;
  const hasBody =
    request.headers["content-length"] !== undefined ||
    request.headers["transfer-encoding"] !== undefined;
  if (!hasBody && type === "") throw invalidJson();
  const message = "The body must have Content-Type: application/json.";
  throw refuse("unsupported_media_type", message);
}

const invalidJson = (): Refusal =>
  refuse(
    "invalid_json",
    "The body must be a JSON object in UTF-8 with at most 64 levels and 65,536 values.",
  );
const problems = {
  body_too_large: (maxBytes: number) =>
    refuse("too_large", `The body may have at most ${maxBytes} bytes.`),
  request_timeout: () => refuse("body_timeout", "The body arrived too slowly."),
  busy: () => {
    const message = "Too many messages wait for the application. Try again shortly.";
    return refuse("rate_limited", message, { headers: { "Retry-After": "1" } });
  },
};

/** @returns The body, or undefined if the client closed the connection. */
export async function readJson(
  request: IncomingMessage,
  { maxBytes, clock, memory, isDigested = false }: BodyOptions,
): Promise<JsonBody | undefined> {
  assertType(request);
  const { release } = memory;
  try {
    const body = await readBody(request, { maxBytes, clock, reserve: memory.reserve });
    if (body === undefined) {
      release();
      return undefined;
    }
    if (typeof body === "string") throw problems[body](maxBytes);
    memory.arrived();
    const value = parseObject(body);
    if (value === undefined) throw invalidJson();
    return { value, digest: isDigested ? hash("sha256", body) : undefined, release };
  } catch (error) {
    release();
    throw error;
  }
}
