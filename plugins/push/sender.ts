// Sends one encrypted message to a push service, and says what became of it.
import { request, type RequestOptions } from "node:https";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Release } from "../../kernel/index.ts";
import { endpointProblem, isAddedHost, isPrivateAddress, pinnedLookup } from "./endpoint.ts";
import type { Resolve } from "./endpoint.ts";
import { encrypt, vapidHeader, type BrowserKeys, type VapidKey } from "./encryption.ts";

/** Headers of RFC 8030. */
export interface Delivery {
  /** Seconds that the service keeps the message for a device that is off. */
  readonly ttl: number;
  readonly urgency: "high" | "normal";
  /** At most 32 characters. A newer message of a topic replaces the older one. */
  readonly topic: string;
}

/**
 * The outcome of a message. `gone`: the browser has ended the subscription. `too_large`: the same
 * message without content may pass. `later`: it may pass after this many seconds.
 */
export type Sent =
  | { readonly outcome: "sent" }
  | { readonly outcome: "gone" }
  | { readonly outcome: "too_large" }
  | { readonly outcome: "later"; readonly seconds: number; readonly problem: string }
  | { readonly outcome: "refused"; readonly problem: string };

interface SenderOptions {
  readonly clock: { now(): number };
  readonly random: (bytes: number) => Uint8Array;
  readonly after: (ms: number, run: () => void) => Release;
  /** `push.hosts`. */
  readonly hosts: () => readonly string[];
  /** An address of the sender: see `vapidHeader`. */
  readonly subject: () => string;
  readonly key: () => Promise<VapidKey>;
  /** Certificates of own push services, as PEM. @defaultValue those of Node */
  readonly ca?: string | undefined;
  readonly resolve?: Resolve | undefined;
}

const timeoutMs = 10_000;
/** Without a `Retry-After`, and at most. */
const defaultRetryS = 5;
const maxRetryS = 60;

export async function sendMessage(
  options: SenderOptions,
  { endpoint, keys }: { readonly endpoint: string; readonly keys: BrowserKeys },
  message: Buffer,
  { ttl, urgency, topic }: Delivery,
): Promise<Sent> {
  // The settings may have changed since the subscription was made.
  const problem = endpointProblem(endpoint, options.hosts());
  if (problem !== undefined) return { outcome: "refused", problem: `the address ${problem}` };
  const url = new URL(endpoint);
  const mayBePrivate = isAddedHost(url, options.hosts());
  const literal = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal) !== 0 && !mayBePrivate && isPrivateAddress(literal))
    return { outcome: "refused", problem: "the address is private" };
  const body = encrypt(message, keys, options.random);
  const authorization = vapidHeader(
    url,
    options.subject(),
    await options.key(),
    options.clock.now(),
  );
  const headers = {
    ttl: String(ttl),
    urgency,
    topic,
    authorization,
    "content-encoding": "aes128gcm",
    "content-type": "application/octet-stream",
    "content-length": body.length,
  };
  return post(
    options,
    url,
    {
      method: "POST",
      headers,
      // No connection is reused: each one is checked.
      agent: false,
      lookup: pinnedLookup(mayBePrivate, options.resolve),
      ...(options.ca !== undefined && { ca: options.ca }),
    },
    body,
  );
}

function post(
  { after }: Pick<SenderOptions, "after">,
  url: URL,
  request_: RequestOptions,
  body: Buffer,
): Promise<Sent> {
  return new Promise((resolve) => {
    const sending = request(url, request_, (response) => {
      done(toSent(response));
      // Nothing in the body is of use, and it may never end.
      response.on("error", () => undefined).destroy();
    });
    const cancel = after(timeoutMs, () => {
      done({ outcome: "later", seconds: defaultRetryS, problem: "it did not respond in 10 s" });
      sending.destroy();
    });
    const done = (sent: Sent): void => {
      cancel();
      resolve(sent);
    };
    sending.on("error", (error: NodeJS.ErrnoException) =>
      done({
        outcome: "later",
        seconds: defaultRetryS,
        problem: error.code ?? error.message,
      }),
    );
    sending.end(body);
  });
}

function toSent({ statusCode: status = 0, headers }: IncomingMessage): Sent {
  if (status >= 200 && status < 300) return { outcome: "sent" };
  if (status === 404 || status === 410) return { outcome: "gone" };
  if (status === 413) return { outcome: "too_large" };
  const problem = `it responded with ${status}`;
  if (status !== 429 && status < 500) return { outcome: "refused", problem };
  const wanted = Number(headers["retry-after"]);
  const seconds = Number.isFinite(wanted) && wanted > 0 ? wanted : defaultRetryS;
  return { outcome: "later", seconds: Math.min(seconds, maxRetryS), problem };
}
