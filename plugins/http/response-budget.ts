/** Bounds the memory of responses that clients have not read yet. */
import type { ServerResponse } from "node:http";
import type { Release } from "../../kernel/index.ts";
import type { Peer } from "./service.ts";

/** Smaller responses are not counted: the operating system takes most of them immediately. */
const minBytes = 64 * 1024;
const maxBytes = 64 * 1024 * 1024;
const maxResponses = 256;
/** One address may use this part of both limits. */
const addressShare = 1 / 2;

interface Usage {
  bytes: number;
  responses: number;
}

const fits = ({ bytes, responses }: Usage, added: number, share: number): boolean =>
  responses === 0 || (bytes + added <= maxBytes * share && responses + 1 <= maxResponses * share);

/**
 * Counts large responses from when their handler passes them on until the operating system has
 * taken their last byte, or the connection closes. A single response may exceed the limit.
 */
export class ResponseBudget {
  private readonly peer: (request: ServerResponse["req"]) => Peer;
  private readonly total: Usage = { bytes: 0, responses: 0 };
  private readonly addresses = new Map<string, Usage>();

  constructor(peer: (request: ServerResponse["req"]) => Peer) {
    this.peer = peer;
  }

  /** @returns Undefined, without any effect, if the response does not fit. Needs no `this`. */
  readonly hold = (response: ServerResponse, bytes: number): Release | undefined => {
    if (bytes <= minBytes || response.destroyed || response.writableFinished)
      return () => undefined;
    const { total, addresses } = this;
    const { key } = this.peer(response.req);
    const own = addresses.get(key) ?? { bytes: 0, responses: 0 };
    if (!fits(total, bytes, 1) || !fits(own, bytes, addressShare)) return undefined;
    addresses.set(key, own);
    for (const usage of [total, own]) {
      usage.bytes += bytes;
      usage.responses += 1;
    }
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      for (const usage of [total, own]) {
        usage.bytes -= bytes;
        usage.responses -= 1;
      }
      if (own.responses === 0) addresses.delete(key);
    };
    response.once("finish", release).once("close", release);
    return release;
  };
}
