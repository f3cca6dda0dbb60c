import { request as plain, type IncomingMessage } from "node:http";
import { request as secure } from "node:https";
import type { Duplex } from "node:stream";
import type { DashboardContext } from "../context.ts";
import type { TestMethod, TestResult } from "./views.ts";

const timeoutMs = 5_000;
/** A close frame with code 1000, masked with zeros: the channel sees a client that is done. */
const closeFrame = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
const upgradeHeaders = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const isPlain = (token: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(token);

interface TestRequest {
  readonly method: TestMethod;
  readonly query?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The ways in which a client can send the token. */
function testRequests(token: string): TestRequest[] {
  // Header text is Latin-1 in Node: the UTF-8 bytes go out as they are.
  const bytes = Buffer.from(token, "utf8");
  const bearer = { authorization: `Bearer ${bytes.toString("latin1")}` };
  const item = isPlain(token) ? `token.${token}` : `token64.${bytes.toString("base64url")}`;
  return [
    { method: "header", headers: { ...upgradeHeaders, ...bearer } },
    { method: "subprotocol", headers: { ...upgradeHeaders, "sec-websocket-protocol": item } },
    { method: "query", headers: upgradeHeaders, query: `?token=${encodeURIComponent(token)}` },
    { method: "requests", headers: bearer },
  ];
}

/** Knocks at the channel as clients do, by each method, and answers what came of it. */
export async function testChannel(
  context: DashboardContext,
  token: string | undefined,
): Promise<TestResult[]> {
  return context.observers.activity.whileTrying(() => runTests(context, token));
}

async function runTests(
  context: DashboardContext,
  token: string | undefined,
): Promise<TestResult[]> {
  const [address] = context.http.addresses("gateway");
  const results: TestResult[] = [];
  for (const testRequest of testRequests(token ?? "")) {
    const began = context.auth.clock.now();
    const url = address && new URL(context.site.url("/pico") + (testRequest.query ?? ""), address);
    const code = url === undefined ? "not_listening" : await openHandshake(url, testRequest);
    const { method } = testRequest;
    results.push({
      method,
      ok: code === (method === "requests" ? "200" : "101"),
      code,
      ms: context.auth.clock.now() - began,
    });
  }
  return results;
}

function openHandshake(url: URL, { headers }: TestRequest): Promise<string> {
  return new Promise((done) => {
    // This process asks itself: who holds the certificate's key needs no proof of it.
    const options = { headers, agent: false, timeout: timeoutMs, rejectUnauthorized: false };
    const ask = url.protocol === "https:" ? secure(url, options) : plain(url, options);
    ask.on("upgrade", (_answer: IncomingMessage, socket: Duplex) => {
      socket.on("error", () => undefined);
      socket.end(closeFrame);
      socket.resume();
      done("101");
    });
    ask.on("response", (answer: IncomingMessage) => void errorCodeIn(answer).then(done));
    ask.on(
      "timeout",
      () => void ask.destroy(Object.assign(new Error("too slow"), { code: "ETIMEDOUT" })),
    );
    ask.on("error", (error: NodeJS.ErrnoException) => done(error.code ?? "failed"));
    ask.end();
  });
}

/** The error code in an answer, else its status. */
async function errorCodeIn(answer: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of answer) text = (text + String(chunk)).slice(0, 10_000);
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : String(answer.statusCode);
  } catch {
    return String(answer.statusCode);
  }
}
