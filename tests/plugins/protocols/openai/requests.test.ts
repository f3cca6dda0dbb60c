// Sends requests to the OpenAI protocol that its libraries cannot or do not send.
import { request as sendRequest } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { programErrors } from "../../../../plugins/program/errors.ts";
import type { Message } from "../../../../plugins/channels/index.ts";
import { startOpenai, tokens, type Service } from "./harness.ts";
import { rejection, type ErrorBody } from "./rejection.ts";

let service: Service;
beforeEach(async () => {
  service = await startOpenai();
});
afterEach(() => service[Symbol.asyncDispose]());

const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });
const body = (more: object = {}): string =>
  JSON.stringify({ model: "doorward", messages: [{ role: "user", content: "hi" }], ...more });

function post(
  text: string = body(),
  headers: Record<string, string> = {},
  { base = service.base, signal }: { base?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${base}/chat/completions`, {
    method: "POST",
    headers: { ...bearer(tokens.openai), "Content-Type": "application/json", ...headers },
    body: text,
    ...(signal && { signal }),
  });
}

/** The next message, whose handler waits until it is stopped or `finish` is called. */
function nextMessage(target: Service = service) {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => void (finish = resolve));
  const message = new Promise<Message>((resolve) => {
    target.state.handler = async (received) => {
      resolve(received);
      const aborted = new Promise((done) => received.signal.addEventListener("abort", done));
      await Promise.race([aborted, finished]);
    };
  });
  return { message, finish };
}

const isAborted = async (message: Promise<Message>): Promise<unknown> => {
  const { signal } = await message;
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done));
  return signal.reason;
};

describe("POST /v1/chat/completions", () => {
  test.each([
    ["of bad JSON", "{", {}, [400, "invalid_json"]],
    ["without a body", "", {}, [400, "invalid_json"]],
    ["of another type", "a=1", { "Content-Type": "text/plain" }, [415, "unsupported_media_type"]],
    ["of a list", "[]", {}, [400, "invalid_json"]],
    ["of 65 levels", `${"[".repeat(65)}${"]".repeat(65)}`, {}, [400, "invalid_json"]],
    ["of 33 MiB", " ".repeat(33 * 1024 * 1024), {}, [413, "too_large"]],
    ["with a token in the query only", body(), { Authorization: "" }, [401, "invalid_api_key"]],
    ["with the pico token", body(), bearer(tokens.pico), [401, "invalid_api_key"]],
    ["with the launcher token", body(), bearer(tokens.launcher), [401, "invalid_api_key"]],
    ["with a cookie", body(), { Authorization: "", Cookie: "a=b" }, [401, "invalid_api_key"]],
    ["of a page", body(), { Origin: "https://e.org" }, [403, "origin_not_allowed"]],
    ["of a loop", body(), { "X-Doorward-Hops": "5" }, [400, "loop"]],
    ["with a token as session", body({ user: tokens.pico }), {}, [400, "unsupported_value"]],
  ] as const)("rejects a request %s", async (_, text, headers, expected) => {
    expect(await rejection(post(text, headers))).toEqual(expected);
    expect(service.received).toEqual([]);
  });

  test("rejects other addresses and other methods", async () => {
    const headers = bearer(tokens.openai);
    const send = (path: string, method = "GET"): Promise<Response> =>
      fetch(service.base + path, { method, headers });
    expect(await rejection(send("/embeddings"))).toEqual([404, "unknown_url"]);
    expect(await rejection(send("/chat/completions"))).toEqual([405, "method_not_allowed"]);
    expect((await send("/chat/completions")).headers.get("allow")).toBe("POST, OPTIONS");
  });

  test("rejects two Authorization headers", async () => {
    const { hostname, port } = new URL(service.base);
    const status = new Promise<number | undefined>((resolve) =>
      sendRequest({
        hostname,
        port,
        path: "/v1/models",
        headers: [
          "Host",
          "localhost",
          "Authorization",
          `Bearer ${tokens.openai}`,
          "Authorization",
          "Bearer x",
        ],
      })
        .on("response", (response) => resolve(response.resume().statusCode))
        .end(),
    );
    expect(await status).toBe(401);
  });

  test("limits wrong tokens after 10, but not the right one", async () => {
    for (let attempt = 0; attempt < 10; attempt++)
      expect((await post(body(), bearer(`wrong-${attempt}`))).status).toBe(401);
    const limited = await post(body(), bearer("wrong-10"));
    expect(limited.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await rejection(Promise.resolve(limited))).toEqual([429, "rate_limited"]);
    expect((await post()).status).toBe(200);
  });

  test("needs the token of a signed-in browser too", async () => {
    const origin = new URL(service.base).origin;
    const signIn = await fetch(`${origin}/api/auth/login`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: origin },
      body: JSON.stringify({ token: tokens.launcher }),
    });
    const cookie = signIn.headers.getSetCookie().map((line) => line.split(";")[0]!);
    const headers = { Authorization: "", Cookie: cookie.join("; ") };
    expect(await rejection(post(body(), headers))).toEqual([401, "invalid_api_key"]);
  });

  test("sends the CORS headers to an allowed page", async () => {
    await using open = await startOpenai({ allow_origins: ["https://app.example.org"] });
    const headers = { Origin: "https://app.example.org" };
    const preflight = await fetch(`${open.base}/models`, {
      method: "OPTIONS",
      headers: {
        ...headers,
        "Access-Control-Request-Headers": "authorization,x-stainless-os,x-evil",
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-headers")).toBe(
      "authorization, x-stainless-os",
    );
    const { headers: received } = await post(body(), headers, { base: open.base });
    expect(received.get("access-control-allow-origin")).toBe("https://app.example.org");
    expect(received.get("access-control-allow-credentials")).toBeNull();
  });
});

describe("conversation", () => {
  test("receives its messages in order, and others in parallel", async () => {
    const { message, finish } = nextMessage();
    const first = post(body({ user: "a" }));
    await message;
    service.state.handler = ({ reply }) => reply({ content: "later" });
    const second = post(body({ user: "a" }));
    expect((await post(body({ user: "b" }))).status).toBe(200);
    expect(service.received.map(({ session }) => session)).toEqual(["openai/a", "openai/b"]);
    finish();
    await Promise.all([first, second]);
    expect(service.received.at(-1)!.session).toBe("openai/a");
  });

  test("shared with the pico channel needs the setting", async () => {
    await post(body({ user: "home" }));
    await using shared = await startOpenai({ sessions: "shared" });
    await post(body({ user: "home" }), {}, { base: shared.base });
    expect([service, shared].map(({ received }) => received[0]!.session)).toEqual([
      "openai/home",
      "home",
    ]);
  });

  test("names its sender and protocol", async () => {
    await post();
    const sent = { channel: "pico", protocol: "openai", sender: { id: "token:openai" } };
    expect(service.received[0]).toMatchObject({ ...sent, hops: 0 });
    expect(service.received[0]!.id).toMatch(/^oa:/);
  });
});

describe("closed connection", () => {
  test.each([false, true])("stops a reply without text, streamed: %s", async (stream) => {
    const { message } = nextMessage();
    const abort = new AbortController();
    const sent = post(body({ stream }), {}, { signal: abort.signal }).catch(() => undefined);
    await message;
    abort.abort();
    expect(await isAborted(message)).toMatchObject({ code: "stopped" });
    await sent;
  });

  test("stops a message behind another one", async () => {
    const { message, finish } = nextMessage();
    const first = post(body({ user: "a" }));
    await message;
    const waiting = new Promise((resolve) =>
      service.kernel.on("channels:message-received", resolve),
    );
    const abort = new AbortController();
    const second = post(body({ user: "a", stream: true }), {}, { signal: abort.signal });
    await waiting;
    const asked = new Promise((resolve) => service.kernel.on("channels:stop-asked", resolve));
    abort.abort();
    await second.catch(() => undefined);
    expect(await asked).toMatchObject({
      session: "openai/a",
      by: "token:openai",
      protocol: "openai",
    });
    finish();
    expect((await first).status).toBe(200);
    expect(service.received).toHaveLength(1);
  });

  test("lets the reply continue with the setting keep", async () => {
    await using kept = await startOpenai({ disconnect: "keep" });
    const { message, finish } = nextMessage(kept);
    const abort = new AbortController();
    const sent = post(body(), {}, { base: kept.base, signal: abort.signal }).catch(() => undefined);
    const { signal } = await message;
    const ended = new Promise((resolve) => kept.kernel.on("channels:answer-ended", resolve));
    abort.abort();
    await sent;
    finish();
    expect(await ended).toMatchObject({ outcome: "completed" });
    expect(signal.aborted).toBe(false);
  });

  test("in the middle of a body delivers nothing", async () => {
    const { hostname, port } = new URL(service.base);
    const socket = connect(Number(port), hostname);
    socket.write(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
        `Authorization: Bearer ${tokens.openai}\r\nContent-Length: 1000\r\n\r\n{"model":`,
      () => socket.destroy(),
    );
    await new Promise((closed) => socket.once("close", closed));
    expect((await post()).status).toBe(200);
    expect(service.received).toHaveLength(1);
  });
});

describe("failure", () => {
  const ended = programErrors.application_ended("exit code 1", true);

  test("before the reply has a status and forbids a repetition", async () => {
    service.state.handler = () => Promise.reject(ended);
    const response = await post(body({ stream: true }));
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(await rejection(Promise.resolve(response))).toEqual([502, "application_ended"]);
  });

  test("within a stream is its last event", async () => {
    service.state.handler = async (message) => {
      await message.reply({ content: "half" });
      throw ended;
    };
    const lines = (await (await post(body({ stream: true }))).text()).trim().split("\n\n");
    expect(lines.at(-2)).toContain('"content":"half"');
    const { error } = JSON.parse(lines.at(-1)!.replace("data: ", "")) as ErrorBody;
    expect(error).toMatchObject({ code: "application_ended", type: "server_error", param: null });
  });

  test("to reply in time is 504 and stops the application", async () => {
    await using hurried = await startOpenai({ answer_s: 1 });
    const { message } = nextMessage(hurried);
    const response = post(body(), {}, { base: hurried.base });
    expect(await rejection(response)).toEqual([504, "no_answer"]);
    expect(await isAborted(message)).toMatchObject({ code: "stopped" });
  });

  test("by shutdown ends a stream with an error", async () => {
    const { message } = nextMessage();
    const streamed = post(body({ stream: true })).then((response) => response.text());
    (await message).accept();
    await service.kernel.stop();
    expect(await streamed).toContain('"code":"not_running"');
  });

  test("by a replaced token ends a stream with an error", async () => {
    const { message } = nextMessage();
    const streamed = post(body({ stream: true })).then((response) => response.text());
    (await message).accept();
    await service.secrets.replace("openai", { expect: 1 });
    expect(await streamed).toContain('"code":"invalid_api_key"');
    expect((await post()).status).toBe(401);
  });

  test("by too many requests is 429", async () => {
    await using narrow = await startOpenai({ max_requests: 1 });
    const { message, finish } = nextMessage(narrow);
    const first = post(body(), {}, { base: narrow.base });
    await message;
    expect(await rejection(post(body(), {}, { base: narrow.base }))).toEqual([429, "rate_limited"]);
    finish();
    expect((await first).status).toBe(200);
  });
});

describe("setting", () => {
  test("enabled: false serves nothing", async () => {
    await using off = await startOpenai({ enabled: false });
    const base = service.base.replace(/:\d+/, `:${new URL(off.origin).port}`);
    expect(await rejection(post(body(), {}, { base }))).toEqual([404, "unknown_url"]);
  });

  test("thoughts: hide leaves thoughts out", async () => {
    await using hidden = await startOpenai({ thoughts: "hide" });
    hidden.state.handler = async ({ reply }) => {
      await reply({ content: "hmm", kind: "thought" });
      await reply({ content: "Hello" });
    };
    for (const stream of [false, true]) {
      const text = await (await post(body({ stream }), {}, { base: hidden.base })).text();
      expect([text.includes("Hello"), text.includes("hmm")]).toEqual([true, false]);
    }
  });
});

describe("slow reader", () => {
  test("loses nothing and holds little", async () => {
    const text = "0123456789".repeat(40_000);
    service.state.handler = async (message) => {
      const stream = message.stream();
      for (let at = 0; at < text.length; at += 40_000) {
        stream.write(text.slice(at, at + 40_000));
        await stream.drained();
      }
      await stream.end();
    };
    const response = await post(body({ stream: true }));
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let received = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      received += part.value;
      await new Promise((later) => setImmediate(later));
    }
    const deltas = [...received.matchAll(/"delta":\{"content":"([^"]*)"/g)];
    expect(deltas.map(([, delta]) => delta).join("")).toBe(text);
    expect(received.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});
