// Tests the requests that the OpenAI libraries repeat on their own.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { request as sendRequest, type ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOpenai, tokens, type Service } from "./harness.ts";

let service: Service;
beforeAll(async () => {
  service = await startOpenai();
});
afterAll(() => service[Symbol.asyncDispose]());

const headersOf = (count: number, more: object = {}): Record<string, string> => ({
  Authorization: `Bearer ${tokens.openai}`,
  "Content-Type": "application/json",
  "X-Stainless-Retry-Count": String(count),
  ...more,
});
const bodyOf = (content: string, more: object = {}): string =>
  JSON.stringify({ model: "doorward", messages: [{ role: "user", content }], ...more });

async function send(count: number, body: string, more: object = {}) {
  const url = `${service.base}/chat/completions`;
  const response = await fetch(url, { method: "POST", headers: headersOf(count, more), body });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return { text: choices[0]!.message.content, id: response.headers.get("x-request-id") };
}

/** Resolves with the response of the next request when the server has received it. */
const nextResponse = () =>
  new Promise<ServerResponse>((resolve) => {
    const channel = "http.server.request.start";
    const started = (message: unknown): void => {
      unsubscribe(channel, started);
      resolve((message as { response: ServerResponse }).response);
    };
    subscribe(channel, started);
  });

/**
 * Sends a request, and closes its connection when `run` has resolved. Resolves when the server has
 * seen the close: an answer that it sends later does not reach the client.
 */
async function leave(body: string, more: object, run: () => Promise<unknown>): Promise<void> {
  const headers = headersOf(0, more);
  const response = nextResponse();
  const sent = sendRequest(`${service.base}/chat/completions`, { method: "POST", headers });
  sent.on("error", () => undefined);
  sent.end(body);
  await run();
  const closed = once(await response, "close");
  sent.destroy();
  await closed;
}

describe("retry of a library", () => {
  test("receives the reply to the request before", async () => {
    const before = service.received.length;
    const first = await send(0, bodyOf("once"));
    expect(await send(1, bodyOf("once"))).toEqual(first);
    expect(service.received.length).toBe(before + 1);
  });

  test.each([
    ["is not a retry", 0, bodyOf("own"), {}],
    ["has another body", 1, bodyOf("own", { temperature: 1 }), {}],
    ["has a key of its own", 1, bodyOf("own"), { "Idempotency-Key": "k" }],
  ])("receives another reply if it %s", async (_, count, body, more) => {
    const first = await send(0, bodyOf("own"));
    expect((await send(count, body, more)).id).not.toBe(first.id);
  });

  test("joins the reply in progress after a timeout of the library", async () => {
    const before = service.received.length;
    let [accept, finish] = [(): void => undefined, (): void => undefined];
    service.state.handler = (message) =>
      new Promise((resolve) => {
        ({ accept } = message);
        finish = () => resolve(message.reply({ content: String(message.signal.aborted) }));
      });
    const body = bodyOf("slow", { stream: true });
    const isReceived = async (): Promise<void> => {
      await expect.poll(() => service.received.length).toBe(before + 1);
    };
    await leave(body, { "X-Stainless-Timeout": "0" }, isReceived);
    const url = `${service.base}/chat/completions`;
    const again = fetch(url, { method: "POST", headers: headersOf(1), body });
    accept();
    const response = await again; // it has joined
    finish();
    expect(await response.text()).toContain('"content":"false"');
    expect(service.received.length).toBe(before + 1);
  });

  test("begins again after the client has stopped the reply", async () => {
    const before = service.received.length;
    const aborted: boolean[] = [];
    service.state.handler = ({ reply, signal }) => {
      if (service.received.length > before + 1) return reply({ content: "again" });
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve(aborted.push(true))),
      );
    };
    const body = bodyOf("stopped");
    const isReceived = async (): Promise<void> => {
      await expect.poll(() => service.received.length).toBe(before + 1);
    };
    await leave(body, { "X-Stainless-Timeout": "600" }, isReceived);
    await expect.poll(() => aborted).toEqual([true]);
    expect((await send(1, body)).text).toBe("again");
  });
});
