import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { picoClient } from "../../../plugins/pico-client/index.ts";
import type { ChatMessage } from "../../../lib/pico-link/index.ts";
import { environment, memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { startRemote, startPicoClient, token } from "../../support/pico-client-harness.ts";

let home: string;
beforeAll(async () => void (home = await mkdtemp(join(tmpdir(), "doorward-pico-client-"))));
afterAll(() => rm(home, { recursive: true, force: true }));

describe("picoLink", () => {
  test("reports state changes and passes messages in both directions", async () => {
    await using there = await startRemote();
    await using here = await startPicoClient(there.url);
    await expect(here.link.send({ content: "hello" })).resolves.toMatchObject({
      status: "delivered",
    });
    const answer = await here.until(here.heard, ({ content }) => content === "you said hello");
    expect(answer).toMatchObject({ channel: "pico_client", session: here.link.session(), hops: 1 });
    expect(here.changes.map(({ from, to }) => [from, to])).toEqual([
      ["idle", "connecting"],
      ["connecting", "open"],
    ]);
    expect(there.heard).toMatchObject([
      { session: here.link.session(), content: "hello", hops: 0 },
    ]);
  });

  test("reports updates and delivers the complete message", async () => {
    const seen: ChatMessage[] = [];
    await using there = await startRemote(async ({ stream }) => {
      const answer = stream();
      for (const word of ["one ", "two ", "three"]) {
        answer.write(word);
        await here.until(seen, ({ content }) => content.endsWith(word));
      }
      await answer.end();
    });
    await using here = await startPicoClient(there.url);
    here.link.listen({ onUpdate: (message) => void seen.push(message) });
    await here.link.send({ content: "count" });
    await here.until(here.heard, () => true);
    expect(seen.map(({ content }) => content)).toEqual([
      "one ",
      "one two ",
      "one two three",
      "one two three",
    ]);
    expect(seen.map(({ final }) => final)).toEqual([false, false, false, true]);
    expect(here.heard.map(({ content }) => content)).toEqual(["one two three"]);
  });

  test("carries media and typing in both directions", async () => {
    const png = Buffer.from("iVBORw0KGgo=", "base64");
    await using there = await startRemote(
      async ({ media, reply }) => void (await reply({ content: "", attachments: media })),
    );
    await using here = await startPicoClient(there.url);
    await here.link.send({ content: "", attachments: [{ type: "image/png", bytes: png }] });
    const { media } = await here.until(here.heard, () => true);
    expect(media.map(({ type, bytes }) => [type, Buffer.from(bytes!)])).toEqual([
      ["image/png", png],
    ]);
    const typing: boolean[] = [];
    here.link.listen({ onTyping: ({ on }) => void typing.push(on) });
    here.link.typing(true);
    const session = here.link.session()!;
    there.channels.typing({ channel: "pico", session }, true);
    await here.until(
      here.typing,
      (fact) => fact.on && fact.channel === "pico_client" && fact.session === session,
    );
    expect(typing).toEqual([true]);
    await expect(here.link.send({ content: "hm", kind: "thought" })).rejects.toMatchObject({
      code: "unsupported",
    });
  });

  test("starts without the server and delivers queued messages later", async () => {
    const first = await startRemote();
    await first[Symbol.asyncDispose]();
    await using here = await startPicoClient(first.url);
    await here.until(here.changes, ({ to, reason }) => to === "waiting" && reason === "network");
    const to = { channel: "pico_client", session: here.link.session()! };
    const receipt = await here.channels.send(to, { content: "early" });
    expect(receipt.status).toBe("buffered");
    await using there = await startRemote(undefined, { port: first.port });
    await here.until(
      here.receipts,
      ({ id, status }) => id === receipt.id && status === "delivered",
    );
    expect(there.heard.map(({ content }) => content)).toEqual(["early"]);
  });

  test("reconnects after a server restart and reports lost messages", async () => {
    const first = await startRemote();
    await using here = await startPicoClient(first.url);
    await here.link.send({ content: "one" });
    await first[Symbol.asyncDispose]();
    await here.until(here.changes, ({ to }) => to === "waiting");
    const second = here.link.send({ content: "two" });
    await using there = await startRemote(undefined, { port: first.port });
    await expect(second).resolves.toMatchObject({ status: "delivered" });
    await here.until(here.heard, ({ content }) => content === "you said two");
    await here.until(
      here.lines,
      ({ text, ["reason"]: reason }) => text.includes("were lost") && reason === "epoch_changed",
    );
    expect(there.heard.length).toBe(1);
  });

  test("rejects with the error of the server", async () => {
    await using there = await startRemote(() => {
      throw new Error("no");
    });
    await using here = await startPicoClient(there.url);
    await expect(here.link.send({ content: "x" })).rejects.toMatchObject({
      code: "undeliverable",
      details: { code: "internal" },
    });
  });
});

describe("a wrong token", () => {
  test("blocks after two attempts and connects with a new token", async () => {
    await using there = await startRemote();
    await using here = await startPicoClient(there.url, { token: "wrong-wrong-wrong-wrong-wrong" });
    await here.until(here.changes, ({ to }) => to === "blocked");
    expect(here.changes.filter(({ to }) => to === "connecting").length).toBe(2);
    expect(here.changes.at(-1)).toMatchObject({ attempt: 2, reason: "token_mismatch" });
    expect(here.lines.at(-1)).toMatchObject({
      level: "warn",
      text: expect.stringContaining("Is the token the same on both sides?") as string,
    });
    await here.tokens.replace("pico_client", { value: token, expect: 1 });
    await here.until(here.changes, ({ to }) => to === "open");
    expect(JSON.stringify(here.lines)).not.toContain("wrong-wrong");
  });

  test("reconnects with the new token after a rotation", async () => {
    await using there = await startRemote();
    await using here = await startPicoClient(there.url);
    await here.link.send({ content: "one" });
    const fresh = "another-horse-another-battery-another-staple";
    await here.tokens.replace("pico_client", { value: fresh, expect: 1 });
    await there.tokens.replace("pico", { value: fresh, expect: 1 });
    await here.until(here.changes, ({ reason }) => reason === "token_rotated");
    await expect(here.link.send({ content: "two" })).resolves.toMatchObject({
      status: "delivered",
    });
  });
});

describe("section channels.pico_client", () => {
  test.each([
    [{ enabled: true }, "t", "PICO_CLIENT_URL_MISSING"],
    [{ enabled: true, url: "ws://127.0.0.1:1/pico" }, "", "PICO_CLIENT_TOKEN_MISSING"],
    [{ enabled: true, url: "ftp://there" }, "t", "KERNEL_BAD_CONFIG"],
    [{ enabled: true, url: "ws://me:pass@there/pico" }, "t", "KERNEL_BAD_CONFIG"],
    [
      { enabled: true, url: "wss://there/pico", ca_file: "/nowhere/ca.pem" },
      "t",
      "PICO_CLIENT_CA_UNREADABLE",
    ],
  ])("%j with the token %j: %s", async (config, token, code) => {
    const kernel = createKernel(
      [tokenStore(memory(token ? { pico_client: token } : {})), picoClient()],
      { log: createCapturedLog().log, config: { "channels.pico_client": config } },
    );
    await expect(kernel.start()).rejects.toMatchObject({ code });
  });

  test.each([
    ["the token store for a host", memory(), /tokenStore\(memory\(\{ pico_client: token \}\)\)\.$/],
    [
      "the variable for an environment",
      environment({ env: {} }),
      /ACME_CHANNELS_PICO_CLIENT_TOKEN/,
    ],
  ])("names %s when the token is missing", async (_, form, sentence) => {
    const kernel = createKernel([tokenStore(form), picoClient({ envPrefix: "ACME" })], {
      log: createCapturedLog().log,
      config: { "channels.pico_client": { enabled: true, url: "ws://127.0.0.1:1/pico" } },
    });
    await expect(kernel.start()).rejects.toThrow(sentence);
  });

  test("offers only picoLink without channels and is idle when off", async () => {
    const kernel = createKernel([tokenStore(memory()), picoClient()], {
      log: createCapturedLog().log,
    });
    await kernel.start();
    expect(kernel.services.picoLink.state()).toBe("idle");
    await expect(kernel.services.picoLink.send({ content: "x" })).rejects.toMatchObject({
      code: "not_running",
    });
    await kernel.stop();
  });

  test("applies valid changes immediately and ignores impossible ones", async () => {
    await using one = await startRemote();
    await using two = await startRemote();
    await using here = await startPicoClient(one.url);
    await here.link.send({ content: "to one" });
    await here.configure({ enabled: true, url: two.url });
    await here.link.send({ content: "to two" });
    await expect(here.configure({ enabled: true, url: "" })).rejects.toMatchObject({
      code: "PICO_CLIENT_URL_MISSING",
    });
    await here.link.send({ content: "to two again" });
    await here.configure({ enabled: false, url: "" });
    await here.until(here.changes, ({ to, reason }) => to === "closed" && reason === "closed");
    expect([one.heard.length, two.heard.length]).toEqual([1, 2]);
  });

  test("ignores a change during the stop", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-ca-"));
    const ca_file = join(folder, "ca.pem");
    execFileSync("mkfifo", [ca_file]); // reading blocks until the test writes to it
    await using there = await startRemote();
    const here = await startPicoClient(there.url);
    const changing = here.configure({ enabled: true, url: there.url, ca_file });
    const stopping = here[Symbol.asyncDispose]();
    await writeFile(ca_file, "");
    await Promise.all([changing, stopping]);
    expect(here.link.state()).toBe("idle");
    await rm(folder, { recursive: true });
  });

  test("notifies all listeners even if one throws", async () => {
    await using there = await startRemote();
    await using here = await startPicoClient(there.url);
    const heard: string[] = [];
    here.link.listen({
      onMessage() {
        throw new Error("fire");
      },
    });
    here.link.listen({ onMessage: ({ content }) => void heard.push(content) });
    await here.link.send({ content: "hello" });
    await here.until(here.heard, ({ content }) => content === "you said hello");
    await here.until(heard, () => true);
    expect(here.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  test("rejects pending sends and stops reconnecting after the stop", async () => {
    const there = await startRemote();
    await there[Symbol.asyncDispose]();
    const here = await startPicoClient(there.url);
    const sending = here.link.send({ content: "x" });
    sending.catch(() => undefined);
    await here[Symbol.asyncDispose]();
    await expect(sending).rejects.toMatchObject({ code: "not_running" });
    expect(here.changes.at(-1)?.to).toBe("closed");
  });
});

describe("session of a link", () => {
  test("survives restarts and belongs to one process at a time", async () => {
    await using there = await startRemote();
    const url = `${there.url}?token=secret`;
    const first = await startPicoClient(url, { home });
    const id = first.link.session();
    await using second = await startPicoClient(there.url, { home });
    expect(second.link.session()).not.toBe(id);
    expect(second.lines.map(({ text }) => text)).toContainEqual(
      expect.stringContaining("another process has the conversation"),
    );
    await first[Symbol.asyncDispose]();
    await using third = await startPicoClient(there.url, { home });
    expect(third.link.session()).toBe(id);
    const stored = await readFile(join(home, "state", "pico-client.json"), "utf8");
    expect(JSON.parse(stored)).toEqual({ sessions: { [there.url]: id } });
    await using other = await startPicoClient(there.url, { home, profile: "work" });
    expect(other.link.session()).not.toBe(id);
  });

  test("can be configured, and is new if storing fails", async () => {
    await using there = await startRemote();
    await using named = await startPicoClient(there.url, { home, sessionId: "mine" });
    expect(named.link.session()).toBe("mine");
    const file = join(home, "a-file");
    await writeFile(file, "");
    await using here = await startPicoClient(there.url, { home: file });
    expect(here.link.session()).toMatch(/^[0-9a-f]{32}$/);
    expect(here.lines.map(({ text }) => text)).toContainEqual(
      expect.stringContaining("conversations cannot be stored"),
    );
  });
});

describe("createHopTracker", () => {
  test("stops the exchange of two agents after a few rounds", async () => {
    let answers = 0;
    await using there = await startRemote(
      async ({ content, reply }) => void (await reply({ content: `there: ${content.length}` })),
    );
    await using here = await startPicoClient(there.url, {
      app: async ({ content, reply }) => {
        answers += 1;
        await reply({ content: `here: ${content.length}` });
      },
    });
    await here.link.send({ content: "begin" });
    await here.until(here.lines, ({ text }) => text.includes("the application rejected"));
    expect(answers).toBe(4);
    expect(there.heard.map(({ hops }) => hops)).toEqual([0, 1, 2, 3, 4]);
  });
});
