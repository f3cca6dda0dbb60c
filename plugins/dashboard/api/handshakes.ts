import { request as plain, type IncomingMessage } from "node:http";
import { request as secure } from "node:https";
import type { Duplex } from "node:stream";
import type { Door } from "../door.ts";
import type { TryMethod, TryResult } from "./views.ts";

const PATIENCE_MS = 5_000;
/** A close frame with code 1000, masked with zeros: the channel sees a client that is done. */
const goodbye = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const isPlain = (token: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(token);

interface Attempt {
  readonly method: TryMethod;
  readonly query?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The ways in which a client can send the token. */
function attempts(token: string): Attempt[] {
  // Header text is Latin-1 in Node: the UTF-8 bytes go out as they are.
  const bytes = Buffer.from(token, "utf8");
  const bearer = { authorization: `Bearer ${bytes.toString("latin1")}` };
  const item = isPlain(token) ? `token.${token}` : `token64.${bytes.toString("base64url")}`;
  return [
    { method: "header", headers: { ...upgrade, ...bearer } },
    { method: "subprotocol", headers: { ...upgrade, "sec-websocket-protocol": item } },
    { method: "query", headers: upgrade, query: `?token=${encodeURIComponent(token)}` },
    { method: "requests", headers: bearer },
  ];
}

/** Knocks at the channel as clients do, by each method, and answers what came of it. */
export async function handshakes(door: Door, token: string | undefined): Promise<TryResult[]> {
  return door.activity.whileTrying(() => tryAll(door, token));
}

async function tryAll(door: Door, token: string | undefined): Promise<TryResult[]> {
  const [address] = door.http.addresses("gateway");
  const results: TryResult[] = [];
  for (const attempt of attempts(token ?? "")) {
    const began = door.clock.now();
    const url = address && new URL(door.http.url("/pico") + (attempt.query ?? ""), address);
    const code = url === undefined ? "not_listening" : await knock(url, attempt);
    const { method } = attempt;
    results.push({
      method,
      ok: code === (method === "requests" ? "200" : "101"),
      code,
      ms: door.clock.now() - began,
    });
  }
  return results;
}

function knock(url: URL, { headers }: Attempt): Promise<string> {
  return new Promise((done) => {
    // This process asks itself: who holds the certificate's key needs no proof of it.
    const options = { headers, agent: false, timeout: PATIENCE_MS, rejectUnauthorized: false };
    const ask = url.protocol === "https:" ? secure(url, options) : plain(url, options);
    ask.on("upgrade", (_answer: IncomingMessage, socket: Duplex) => {
      socket.on("error", () => undefined);
      socket.end(goodbye);
      socket.resume();
      done("101");
    });
    ask.on("response", (answer: IncomingMessage) => void codeIn(answer).then(done));
    ask.on(
      "timeout",
      () => void ask.destroy(Object.assign(new Error("too slow"), { code: "ETIMEDOUT" })),
    );
    ask.on("error", (error: NodeJS.ErrnoException) => done(error.code ?? "failed"));
    ask.end();
  });
}

/** The error code in an answer, else its status. */
async function codeIn(answer: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of answer) text = (text + String(chunk)).slice(0, 10_000);
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : String(answer.statusCode);
  } catch {
    return String(answer.statusCode);
  }
}
