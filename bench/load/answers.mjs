// Requests streamed answers over the protocols of other products.
import { Agent, request as openRequest } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { protocolTokens } from "../settings.mjs";
import { stopwatch } from "./processor.mjs";

/** @typedef {"openai" | "ai_sdk" | "ag_ui"} Protocol */

const agent = new Agent({ keepAlive: true, maxSockets: 5_000 });
let next = 0;

/** @type {Record<Protocol, (content: string) => readonly [path: string, body: object]>} */
const requests = {
  openai: (content) => [
    "/v1/chat/completions",
    { model: "doorward", stream: true, messages: [{ role: "user", content }] },
  ],
  ai_sdk: (content) => {
    const id = `chat-${(next += 1)}`;
    const parts = [{ type: "text", text: content }];
    return ["/ai/chat", { id, messages: [{ id, role: "user", parts }] }];
  },
  ag_ui: (content) => {
    const id = `thread-${(next += 1)}`;
    const messages = [{ id, role: "user", content }];
    return ["/ag-ui", { threadId: id, runId: id, messages }];
  },
};

/**
 * @typedef {object} Answer
 * @property {import("node:http").IncomingMessage} response
 * @property {number} firstMs Milliseconds until the first byte of the body
 * @property {Promise<number>} ended Resolves to the bytes of the body
 */

/** @param {{ port: number, protocol: Protocol, content: string }} load @returns {Promise<Answer>} */
function open({ port, protocol, content }) {
  const [path, body] = requests[protocol](content);
  const text = JSON.stringify(body);
  const began = performance.now();
  return new Promise((done, fail) => {
    const options = {
      port,
      path,
      agent,
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Content-Length": text.length,
        Authorization: `Bearer ${protocolTokens[protocol]}`,
      },
    };
    const request = openRequest(options, (response) => {
      if (response.statusCode !== 200)
        return fail(new Error(`${path} answers ${response.statusCode}`));
      let bytes = 0;
      /** @type {Promise<number>} */
      const ended = new Promise((end) => response.once("end", () => end(bytes)));
      response.on("data", (chunk) => {
        if (bytes === 0) done({ response, ended, firstMs: performance.now() - began });
        bytes += chunk.length;
      });
      response.on("error", () => undefined);
    });
    request.on("error", fail).end(text);
  });
}

/**
 * Requests answers repeatedly, `parallel` at a time.
 * @param {{ port: number, pid: number, protocol: Protocol, content: string, parallel: number,
 *   units: number, seconds: number, slow?: number }} load
 *   `units`: tokens of one answer. `slow`: additional answers that are read at 1 kB/s
 */
export async function answers({
  port,
  pid,
  protocol,
  content,
  parallel,
  units,
  seconds,
  slow = 0,
}) {
  const stopping = new AbortController();
  const slowReaders = Array.from({ length: slow }, async () => {
    const { response } = await open({ port, protocol, content: "tokens 200000" });
    response.pause();
    while (!stopping.signal.aborted) {
      response.read(1_024);
      await pause(1_000, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    response.destroy();
  });
  const { usage, isOver } = stopwatch(pid, seconds);
  let done = 0;
  let bytes = 0;
  const requestRepeatedly = async () => {
    while (!isOver()) {
      bytes += await (await open({ port, protocol, content })).ended;
      done += units;
    }
  };
  await Promise.all(Array.from({ length: parallel }, requestRepeatedly));
  const used = usage();
  stopping.abort();
  await Promise.all(slowReaders);
  return { done, bytes, ...used };
}

/** Returns the bytes of one answer. @param {{ port: number, protocol: Protocol, content: string }} load */
export const answerBytes = async (load) => (await open(load)).ended;

/** Returns the milliseconds to the first byte of consecutive answers.
 * @param {{ port: number, protocol: Protocol, content: string, count: number }} load */
export async function firstBytes({ count, ...load }) {
  const times = [];
  for (let at = 0; at < count; at += 1) {
    const { firstMs, ended } = await open(load);
    times.push(firstMs);
    await ended;
  }
  return times;
}

/** @type {import("node:http").IncomingMessage[]} */
const kept = [];

/** Closes the open answers. */
export async function leaveAnswers() {
  const closed = kept
    .splice(0)
    .map((response) => new Promise((done) => response.once("close", done).destroy()));
  await Promise.all(closed);
}

/** Opens answers that stay open. @param {{ port: number, protocol: Protocol, count: number }} load */
export async function openAnswers({ count, ...load }) {
  for (let left = count; left > 0; left -= 50) {
    const some = Array.from({ length: Math.min(50, left) }, () =>
      open({ ...load, content: "open" }),
    );
    for (const { response } of await Promise.all(some)) kept.push(response);
  }
}

/** Returns the text of an answer. @param {{ port: number, content: string }} load */
export async function askText({ port, content }) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Authorization: `Bearer ${protocolTokens.openai}`,
    },
    body: JSON.stringify({ model: "doorward", messages: [{ role: "user", content }] }),
  });
  const { choices } = await response.json();
  return choices[0].message.content;
}
