import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { environment, memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { startPicoServer } from "../../support/pico-server-harness.ts";

const make = (
  config: object,
  options = {},
  { form = environment({ env: {} }), log = createCapturedLog().log } = {},
) =>
  createKernel([tokenStore(form), channels(), http({ port: 0 }), picoServer(options)], {
    config: { "channels.pico": config },
    log,
  });

describe("PICO_TOKEN_MISSING", () => {
  test("names three places for the token and a command", async () => {
    const error = await make({ enabled: true })
      .start()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "PICO_TOKEN_MISSING" });
    const { message } = error as Error;
    const places = [
      "SERVICE_CHANNELS_PICO_TOKEN",
      ".security.yml",
      "channels.pico.token",
      "config.json",
    ];
    for (const part of [...places, "32 random bytes", "openssl rand -hex 32"])
      expect(message).toContain(part);
  });
  test("names the environment variable of another brand", async () => {
    await expect(make({ enabled: true }, { envPrefix: "ACME" }).start()).rejects.toThrow(
      "ACME_CHANNELS_PICO_TOKEN",
    );
  });
  test("rejects turning the channel on until a token exists", async () => {
    await using testServer = await startPicoServer({ token: "", config: { enabled: false } });
    await expect(testServer.configure({ enabled: true })).rejects.toMatchObject({
      code: "PICO_TOKEN_MISSING",
    });
    expect(testServer.services.picoServer.status().enabled).toBe(false);
    await testServer.services.tokenSecrets.replace("pico", { expect: 0 });
    const made = testServer.services.tokenSecrets.reveal("pico")!;
    expect(await testServer.configure({ enabled: true })).toEqual({
      now: ["enabled"],
      afterRestart: [],
    });
    await (await testServer.connect("/pico", { token: made })).settled();
  });
  test("names the token store to an embedding host", async () => {
    const error = await make({ enabled: true }, {}, { form: memory({}) })
      .start()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "PICO_TOKEN_MISSING" });
    expect((error as Error).message).toContain("tokenStore(memory({ pico: token }))");
    expect((error as Error).message).not.toMatch(/environment|SERVICE_|\.yml|config\.json/);
  });
  test("starts without a token while the channel is off", async () => {
    await using kernel = make({ enabled: false }, {}, { form: memory({}) });
    await kernel.start();
    expect(kernel.services.picoServer.status()).toMatchObject({ enabled: false, connections: 0 });
  });
});

describe("picoSchema", () => {
  const { schema } = picoServer({ enabled: false }).config;
  const parse = (raw: unknown) =>
    schema["~standard"].validate(raw) as { value?: unknown; issues?: readonly object[] };

  test("has the defaults of the specification", () => {
    expect(parse({})).toEqual({
      value: {
        enabled: false,
        allow_token_query: false,
        allow_origins: [],
        ping_interval: 30,
        read_timeout: 60,
        write_timeout: 60,
        max_connections: 100,
        max_payload: 33_554_432,
        message_rate: 100,
        message_burst: 200,
        drain_timeout: 5,
        reconnect_rate: 300,
        answers: "all",
      },
    });
  });
  test("turns the channel on in the list of a host", () => {
    const parsed = picoServer().config.schema["~standard"].validate({});
    expect(parsed).toMatchObject({ value: { enabled: true } });
  });
  test("replaces zero and negative intervals by the default", () => {
    expect(parse({ ping_interval: 0, read_timeout: -1, write_timeout: -60 })).toMatchObject({
      value: { ping_interval: 30, read_timeout: 60, write_timeout: 60 },
    });
  });
  test.each([
    { enabled: "yes" },
    { ping_interval: 1.5 },
    { max_connections: 0 },
    { max_payload: 10 },
    { message_rate: -1 },
    { allow_origins: ["app.example.org"] },
    { allow_origins: ["https://app.example.org/path"] },
    { allow_origins: ["https://*.*.org"] },
    { allow_origins: ["https://*"] },
    { allow_origin: [] },
    { token: "secret" },
  ])("%j is not valid", (raw) => {
    expect(parse(raw).issues?.length).toBeGreaterThan(0);
  });
  test("describes every field, with a default and as editable", () => {
    const described = schema["~standard"].jsonSchema.input({ target: "draft-07" });
    const { properties } = described as { properties: Record<string, Record<string, unknown>> };
    expect(Object.keys(properties)).not.toContain("token");
    for (const [name, field] of Object.entries(properties)) {
      const { editable, description } = field;
      expect([name, editable, typeof description]).toEqual([name, true, "string"]);
      expect(field).toHaveProperty("default");
    }
  });
});

test("reports the listener and the message counts", async () => {
  await using testServer = await startPicoServer({
    app: async ({ reply }) => void (await reply({ content: "a" })),
  });
  const peer = await testServer.connect();
  peer.send({ type: "message.send", payload: { content: "q" } });
  await peer.next();
  expect(testServer.services.picoServer.status()).toEqual({
    enabled: true,
    path: "/pico",
    listener: "dashboard",
    connections: 1,
    maxConnections: 100,
    messagesIn: 1,
    messagesOut: 1,
  });
  await using apart = await startPicoServer({ gateway: true });
  expect(apart.services.picoServer.status().listener).toBe("gateway");
});
