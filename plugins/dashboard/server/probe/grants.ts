/**
 * Grants for the check of the way in: one at a time, bounded in time, requests and bytes. The
 * secret of a grant never travels over the public URL: requests and responses prove that they know
 * it, so another machine that receives them learns nothing.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../../kernel/index.ts";
import type { ProbeGrant } from "./contract.ts";

/** Carries `ID.CHALLENGE.PROOF` in requests, and the proof of the launcher in responses. */
export const probeHeader = "x-doorward-probe";

export const limits = {
  lifetimeMs: 15 * 60_000,
  requests: 256,
  parallel: 8,
  bytes: 8 * 1024 ** 3,
  silenceS: 300,
} as const;

const headerPattern = /^([\w-]{11})\.([\w-]{22})\.([\w-]{43})$/;

/** @returns The proof that a message of this kind comes from an owner of the key. */
const prove = (key: Buffer, ...parts: readonly string[]): string =>
  createHmac("sha256", key).update(parts.join("\n")).digest("base64url");

interface OpenGrant {
  readonly id: string;
  readonly key: Buffer;
  readonly until: number;
  readonly challenges: Set<string>;
  readonly ended: AbortController;
  running: number;
  bytesLeft: number;
}

/** A request that has proved its grant. */
export interface ProbeRequest {
  readonly action: string;
  readonly parameters: URLSearchParams;
  /** Value of the header `X-Doorward-Probe` of the response. */
  readonly proof: string;
  /** Aborts when the grant ends. */
  readonly ended: AbortSignal;
  /** @returns False if the grant permits no further bytes. */
  useBytes(bytes: number): boolean;
  /** Call it when the request is done. */
  release(): void;
}

export class ProbeGrants {
  private readonly clock: Clock;
  private readonly random: (bytes: number) => Uint8Array;
  private open: OpenGrant | undefined;
  private timer: unknown;

  constructor(clock: Clock, random: (bytes: number) => Uint8Array) {
    this.clock = clock;
    this.random = random;
  }

  /** Creates a grant, and ends the one before. */
  issue(): Pick<ProbeGrant, "id" | "key"> {
    this.end();
    const key = Buffer.from(this.random(32));
    const id = Buffer.from(this.random(8)).toString("base64url");
    this.open = {
      id,
      key,
      until: this.clock.monotonic() + limits.lifetimeMs,
      challenges: new Set(),
      ended: new AbortController(),
      running: 0,
      bytesLeft: limits.bytes,
    };
    this.timer = this.clock.setTimeout(() => this.end(), limits.lifetimeMs);
    return { id, key: key.toString("base64url") };
  }

  /** Ends the open grant with its requests. With an id, only that one. */
  end(id = this.open?.id): void {
    if (id !== this.open?.id) return;
    this.clock.clearTimeout(this.timer);
    this.open?.ended.abort();
    this.open = undefined;
  }

  /** @returns Undefined for every request that does not prove an open grant. */
  admit(request: IncomingMessage): ProbeRequest | undefined {
    const { open } = this;
    const [, id, challenge = "", proof = ""] =
      headerPattern.exec(String(request.headers[probeHeader] ?? "")) ?? [];
    if (!open || id !== open.id || this.clock.monotonic() >= open.until) return undefined;
    const [, search = ""] = (request.url ?? "").split("?", 2);
    const parameters = new URLSearchParams(search);
    const action = parameters.get("do") ?? "";
    const expected = Buffer.from(prove(open.key, "request", action, challenge));
    if (!timingSafeEqual(expected, Buffer.from(proof))) return undefined;
    const { challenges } = open;
    if (challenges.has(challenge) || challenges.size >= limits.requests) return undefined;
    if (open.running >= limits.parallel) return undefined;
    challenges.add(challenge);
    open.running += 1;
    let isRunning = true;
    return {
      action,
      parameters,
      proof: prove(open.key, "response", challenge),
      ended: open.ended.signal,
      useBytes: (bytes) => (open.bytesLeft -= bytes) >= 0,
      release: () => {
        if (isRunning) open.running -= 1;
        isRunning = false;
      },
    };
  }
}
