// Tests what clients with a wrong base URL receive.
import { afterEach, describe, expect, test } from "vitest";
import { createKernel } from "../../../../kernel/index.ts";
import { channels } from "../../../../plugins/channels/index.ts";
import { dashboard } from "../../../../plugins/dashboard/index.ts";
import { echo } from "../../../../plugins/echo/index.ts";
import { gateway, http } from "../../../../plugins/http/index.ts";
import { openai } from "../../../../plugins/protocols/openai/index.ts";
import { picoServer } from "../../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../../plugins/token-store/index.ts";
import { tokens } from "./harness.ts";

const stops: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

/** Starts the dashboard with the protocol, on one port or on two. */
async function start({ port, enabled = true }: { port?: 0; enabled?: boolean } = {}) {
  const kernel = createKernel(
    [
      tokenStore(memory(tokens)),
      channels(),
      http({ port: 0 }),
      gateway(),
      picoServer(),
      openai(),
      echo(),
      dashboard({ version: "0.0.0" }),
    ],
    {
      config: {
        "channels.pico": { enabled: true, drain_timeout: 0 },
        "channels.openai": { enabled, allow_origins: ["https://app.example"] },
        ...(port !== undefined && { gateway: { port } }),
      },
    },
  );
  await kernel.start();
  stops.push(() => kernel.stop());
  const { http: service } = kernel.services;
  return {
    dashboard: service.addresses()[0]!.origin,
    gateway: service.addresses("gateway")[0]!.origin,
  };
}

async function send(url: string, method = "POST", headers: object = {}) {
  const init = { method, headers: { Authorization: `Bearer ${tokens.openai}`, ...headers } };
  const reply = await fetch(url, init);
  return { status: reply.status, body: (await reply.json()) as never };
}

const messageOf = ({ body }: { body: { error: { message: string } } }): string =>
  body.error.message;

describe("address of an OpenAI client", () => {
  test.each([
    ["POST", "/chat/completions"],
    ["POST", "/completions"],
    ["POST", "/responses"],
    ["POST", "/embeddings"],
    ["GET", "/models"],
    ["POST", "/v1/v1/chat/completions"],
  ])("names the base URL for %s %s", async (method, path) => {
    const { dashboard: origin } = await start();
    const { status, body } = await send(origin + path, method);
    expect(status).toBe(404);
    expect(body).toEqual({
      error: {
        message: `The base URL ends in /v1: ${origin}/v1`,
        type: "invalid_request_error",
        param: null,
        code: "unknown_url",
      },
    });
  });

  test.each([
    ["GET", "/api/tags"],
    ["POST", "/api/chat"],
    ["POST", "/api/generate"],
  ])("replies to %s %s in the form of Ollama", async (method, path) => {
    const { dashboard: origin } = await start();
    const { status, body } = await send(origin + path, method);
    expect([status, body]).toEqual([
      404,
      {
        error:
          "Set the client to an OpenAI API, not to Ollama. " +
          `The base URL ends in /v1: ${origin}/v1`,
      },
    ]);
  });

  test("names the port of the gateway on the one of the dashboard", async () => {
    const found = await start({ port: 0 });
    expect(found.gateway).not.toBe(found.dashboard);
    for (const path of ["/v1/chat/completions", "/chat/completions"]) {
      const reply = await send(found.dashboard + path);
      expect([reply.status, messageOf(reply)]).toEqual([
        404,
        expect.stringContaining(`The base URL ends in /v1: ${found.gateway}/v1`),
      ]);
    }
    expect((await send(`${found.gateway}/v1/models`, "GET")).status).toBe(200);
    expect((await send(`${found.gateway}/chat/completions`)).status).toBe(404);
  });

  test("lists the addresses below /v1", async () => {
    const { dashboard: origin } = await start();
    const unknown = messageOf(await send(`${origin}/v1/audio/speech`));
    expect(unknown).toContain("POST /v1/chat/completions and POST /v1/responses");
    expect(messageOf(await send(`${origin}/v1/embeddings`))).toMatch(
      /^Embeddings are not offered\./,
    );
    expect(messageOf(await send(`${origin}/v1/completions`))).toContain("is_chat_model=True");
  });

  test("leaves pages of the dashboard where they are", async () => {
    const { dashboard: origin } = await start();
    const headers = { Accept: "text/html" };
    const page = await fetch(`${origin}/chat/completions`, { headers, redirect: "manual" });
    expect(page.status).not.toBe(404);
    expect(page.headers.get("content-type") ?? "").not.toMatch(/json/);
  });

  test("names nothing while the protocol is off", async () => {
    const { dashboard: origin } = await start({ enabled: false });
    const reply = await send(`${origin}/chat/completions`);
    expect([reply.status, messageOf(reply)]).toEqual([404, "There is nothing at this address."]);
  });
});
