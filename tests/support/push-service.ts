// A push service of the tests, with https on this machine, and the browser behind it.
import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  randomBytes,
  verify,
  type ECDH,
} from "node:crypto";
import { createServer, type Server } from "node:https";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { recordKeys } from "../../plugins/push/encryption.ts";
import { selfSigned } from "../plugins/http/certificate.ts";

/** Address and keys that a browser gives a server. */
export interface Subscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** A notification that has arrived. */
export interface Arrived {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly web_push: number;
  readonly notification: {
    readonly title: string;
    readonly body: string;
    readonly navigate: string;
    readonly tag: string;
    readonly silent: boolean;
  };
  readonly d: {
    readonly ticket?: string;
    readonly actions?: readonly { readonly action: string; readonly title: string }[];
    readonly isUpdate?: true;
  };
}

/** Decrypts a body as a browser does (RFC 8291). */
export function decrypt(body: Buffer, pair: ECDH, auth: Buffer): Buffer {
  const keyBytes = body.readUInt8(20);
  const server = body.subarray(21, 21 + keyBytes);
  const { key, nonce } = recordKeys(pair.computeSecret(server), {
    auth,
    salt: body.subarray(0, 16),
    browser: pair.getPublicKey(),
    server,
  });
  const rest = body.subarray(21 + keyBytes);
  const decipher = createDecipheriv("aes-128-gcm", key, nonce);
  decipher.setAuthTag(rest.subarray(-16));
  const plain = Buffer.concat([decipher.update(rest.subarray(0, -16)), decipher.final()]);
  return plain.subarray(0, plain.lastIndexOf(2));
}

/** Checks the signature of a request (RFC 8292). @returns The claims. */
export function vapidClaims(authorization: string): Record<string, unknown> {
  const [, head, claims, signature, key] =
    /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
  const point = Buffer.from(key ?? "", "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) =>
    part.toString("base64url"),
  );
  const isValid = verify(
    "sha256",
    Buffer.from(`${head}.${claims}`),
    {
      key: createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: x!, y: y! } }),
      dsaEncoding: "ieee-p1363",
    },
    Buffer.from(signature ?? "", "base64url"),
  );
  if (!isValid) throw new Error("the signature of the request is wrong");
  return JSON.parse(Buffer.from(claims ?? "", "base64url").toString()) as Record<string, unknown>;
}

type Respond = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

const patienceMs = 20_000;

/** A bound in real time. `passed` rejects with the sentence when it has passed. */
export function deadline(ms: number, sentence: () => string) {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`After ${ms / 1_000} s: ${sentence()}`)), ms);
  });
  passed.catch(() => undefined);
  return { passed, cancel: (): void => clearTimeout(timer) };
}

/** Starts the service. `respond` can be replaced at any time. */
export async function startPushService() {
  const { cert, key } = selfSigned();
  const browsers = new Map<string, { readonly pair: ECDH; readonly auth: Buffer }>();
  const arrived: Arrived[] = [];
  const waiting: (() => void)[] = [];
  const service = {
    cert,
    arrived,
    /** Requests of every kind, also those that are refused. */
    requests: 0,
    respond: ((_request, response) => response.writeHead(201).end()) as Respond,
    host: "",
    /** @returns What a browser gives a server when notifications are turned on. */
    subscribe(): Subscription {
      const pair = createECDH("prime256v1");
      pair.generateKeys();
      const auth = randomBytes(16);
      const path = `/push/${randomBytes(8).toString("hex")}`;
      browsers.set(path, { pair, auth });
      return {
        endpoint: `https://${service.host}${path}`,
        keys: { p256dh: pair.getPublicKey("base64url"), auth: auth.toString("base64url") },
      };
    },
    /** Resolves when this many notifications have arrived since the start. */
    async until(count: number, ms = patienceMs): Promise<Arrived> {
      const limit = deadline(
        ms,
        () =>
          `${count} notifications were expected, and ${arrived.length} have arrived ` +
          `in ${service.requests} requests.`,
      );
      while (arrived.length < count) {
        const next = new Promise<void>((resolve) => void waiting.push(resolve));
        await Promise.race([next, limit.passed]);
      }
      limit.cancel();
      return arrived[count - 1]!;
    },
    /** Whether this many arrive within this real time. */
    arrives: (count: number, ms: number): Promise<boolean> =>
      service.until(count, ms).then(
        () => true,
        () => false,
      ),
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  const server: Server = createServer({ cert, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      service.requests += 1;
      const body = Buffer.concat(chunks);
      const path = request.url ?? "";
      const browser = browsers.get(path);
      response.on("finish", () => {
        if (!browser || response.statusCode !== 201) return;
        vapidClaims(request.headers.authorization ?? "");
        const text = decrypt(body, browser.pair, browser.auth).toString();
        const message = JSON.parse(text) as Omit<Arrived, "path" | "headers">;
        arrived.push({ path, headers: request.headers, ...message });
        for (const tell of waiting.splice(0)) tell();
      });
      service.respond(request, response, body);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  service.host = `localhost:${(server.address() as AddressInfo).port}`;
  return service;
}
export type PushService = Awaited<ReturnType<typeof startPushService>>;
