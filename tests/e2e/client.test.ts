// Tests the built client against a launcher and against slow or missing servers.
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRemote, token, type Remote } from "../support/pico-client-harness.ts";
import { startClient, type Running, type Variables } from "./client.ts";
import { freePort } from "./free-port.ts";
import { startLauncher, type RunningLauncher } from "./launcher.ts";

/* The built program as a client, in processes of its own: against a launcher, and against services that are slow to
 * answer or not there. */

const channel = { SERVICE_CHANNELS_PICO_ENABLED: "true", SERVICE_CHANNELS_PICO_TOKEN: token };
const nobody = "ws://127.0.0.1:1/pico";
let folder: string;
let launcher: RunningLauncher;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "doorward-client-"));
  launcher = await startLauncher({
    env: { ...channel, SERVICE_LAUNCHER_TOKEN: "correct-horse-battery-staple" },
  });
  url = `ws://${launcher.base.host}/pico`;
});
afterAll(async () => {
  await launcher[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const start = (args: readonly string[], env?: Variables, command?: string[]): Promise<Running> =>
  startClient({ folder, url }, args, env, command);

async function run(args: readonly string[], { input = "", env = {} as Variables } = {}) {
  const running = await start(args, env);
  running.child.stdin.end(input);
  return { ...(await running.ended), home: running.home };
}

const frames = (out: string) =>
  out
    .trim()
    .split("\n")
    .filter(Boolean)
    .map(
      (line) =>
        JSON.parse(line) as {
          type: string;
          id?: string;
          payload: { content?: string; code?: string; request_id?: string };
        },
    );
const line = (frame: object): string => `${JSON.stringify(frame)}\n`;
const message = (id: string, content: string): string =>
  line({ type: "message.send", id, payload: { content } });

describe("doorward send", () => {
  test("prints the reply with three variables and stores only the conversation", async () => {
    const { code, out, err, home } = await run(["send", "hello there"]);
    expect({ code, out, err }).toEqual({ code: 0, out: "hello there\n", err: "" });
    expect(await readdir(home)).toEqual(["state"]);
  });

  test("reads the message from stdin and options for token and URL", async () => {
    const file = join(folder, "token");
    await writeFile(file, `${token}\n`);
    const env = {
      SERVICE_CHANNELS_PICO_CLIENT_TOKEN: "",
      SERVICE_CHANNELS_PICO_CLIENT_URL: nobody,
    };
    const given = ["send", "-url", url, "-token-file", file, "-session", "mine", "-json", "-"];
    const { code, out } = await run(given, { input: "\ufefftwo\nlines\r\n", env });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ session_id: "mine", content: "two\nlines" });
  });

  test("matches each reply to its message and marks late replies", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => void (release = resolve));
    await using there = await startRemote(async ({ content, reply }) => {
      if (content === "slow") await held;
      await reply({ content: `you said ${content}` });
    });
    const first = await run(["send", "-url", there.url, "one"]);
    const again = (...args: string[]) =>
      run(["send", "-url", there.url, ...args], { env: { SERVICE_HOME: first.home } });
    expect(await again("two")).toMatchObject({ code: 0, out: "you said two\n", err: "" });
    expect((await again("-timeout", "1", "slow")).code).toBe(1);
    release();
    const last = await again("three");
    expect(last).toMatchObject({ code: 0, out: "you said three\n" });
    expect(last.err).toContain("a reply to an earlier message: you said slow");
  });

  test("says why the server did not take the message in time", async () => {
    const reason = Object.assign(new Error("disk"), {
      name: "DoorwardError",
      code: "store_unavailable",
    });
    await using there = await startRemote(() => Promise.reject(reason));
    const { code, err } = await run(["send", "-url", there.url, "-timeout", "1", "hello"]);
    expect(code).toBe(1);
    expect(err).toContain("There was no reply within 1 s. The conversation cannot be stored now;");
  });

  test("exits with 3 after a wrong token and never prints it", async () => {
    const wrong = "not-the-right-token-not-the-right-token";
    const { code, out, err } = await run(["send", "hello"], {
      env: { SERVICE_CHANNELS_PICO_CLIENT_TOKEN: wrong },
    });
    expect({ code, out }).toEqual({ code: 3, out: "" });
    expect(err).toContain("Is the token the same on both sides?");
    expect(err).not.toContain(wrong);
  });

  test("exits with 4 if there is no server or channel", async () => {
    expect(await run(["send", "-url", nobody, "hello"])).toMatchObject({ code: 4, out: "" });
    expect(await run(["send", "-url", url.replace("pico", "nothing"), "hello"])).toMatchObject({
      code: 4,
      out: "",
    });
  });

  test("exits with 2 after wrong usage", async () => {
    for (const args of [
      ["send"],
      ["send", "-url", `${url}?token=secret`, "x"],
      ["send", "-session", "a\nb", "x"],
    ]) {
      const { code, err } = await run(args);
      expect([args, code]).toEqual([args, 2]);
      expect(err).not.toContain("secret");
    }
  });

  test("exits with 1 and names a missing URL, token or channel", async () => {
    const without = (name: string, value = ""): Promise<{ code: number | null; err: string }> =>
      run(["send", "x"], { env: { [`SERVICE_CHANNELS_PICO_CLIENT_${name}`]: value } });
    expect(await without("URL")).toMatchObject({ code: 1, err: expect.stringContaining("_URL") });
    expect(await without("TOKEN")).toMatchObject({
      code: 1,
      err: expect.stringContaining("_TOKEN"),
    });
    expect(await without("ENABLED", "false")).toMatchObject({
      code: 1,
      err: expect.stringContaining("The pico client is off"),
    });
  });

  test("warns once about a home that is not writable", async () => {
    const { code, out, err } = await run(["send", "hello"], {
      env: { SERVICE_HOME: "/proc/doorward" },
    });
    expect({ code, out }).toEqual({ code: 0, out: "hello\n" });
    expect(err.match(/^doorward: .*\n/gm)).toHaveLength(1);
  });

  test("strips control characters of the server from the terminal", async () => {
    const { out } = await run(["send", "a\u001b[31mb\u009b2Jc\u202ed\u0007"]);
    expect(out).toBe("a\ufffd[31mb\ufffd2Jc\ufffdd\ufffd\n");
  });
});

describe("doorward client in a pipe", () => {
  test("sends each line, prints replies and exits after the last", async () => {
    const { code, out, err } = await run(["client"], { input: "one\n\ntwo\n" });
    expect({ code, out, err }).toEqual({ code: 0, out: "one\ntwo\n", err: "" });
  });

  test("waits for a slow reply and prints it once", async () => {
    await using there = await startRemote(async ({ stream }) => {
      const answer = stream();
      for (const word of ["all ", "in ", "one"]) {
        answer.write(word);
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
      await answer.end();
    });
    expect(await run(["client", "-url", there.url], { input: "go\n" })).toMatchObject({
      code: 0,
      out: "all in one\n",
    });
  });

  test("exits with 1 after the timeout", async () => {
    await using there = await startRemote(() => undefined);
    const { code, err } = await run(["client", "-url", there.url, "-timeout", "1"], {
      input: "hello\n",
    });
    expect(code).toBe(1);
    expect(err).toContain("no reply");
  });
});

describe("doorward client -json", () => {
  test("maps lines to Pico messages with the ids of the program", async () => {
    const input = [
      message("m1", "hel\u2028lo").replace("{", "{\r"),
      "nonsense\n",
      line({ type: "ping", id: "p1" }),
      line({ type: "dance" }),
      line({ type: "message.send", id: "m2", session_id: "another", payload: { content: "x" } }),
    ].join("");
    const { code, out } = await run(["client", "-json"], { input });
    const all = frames(out);
    const find = (type: string) => all.filter((frame) => frame.type === type);
    expect(find("message.create").map(({ payload }) => payload.content)).toEqual(["hel\u2028lo"]);
    expect(find("message.ack").map(({ payload }) => payload.request_id)).toEqual(["m1"]);
    expect(find("pong").map(({ id }) => id)).toEqual(["p1"]);
    const errors = find("error").map(({ payload }) => payload.code);
    expect(errors).toEqual(["invalid_message", "unknown_type", "invalid_session_id"]);
    expect(code).toBe(1);
  });

  test("deduplicates repeated lines and rejects a reused id", async () => {
    const input = [message("a", "one"), message("a", "one"), message("a", "two")].join("");
    const { code, out } = await run(["client", "-json"], { input });
    const told = frames(out)
      .filter(({ type }) => ["error", "message.ack", "message.create"].includes(type))
      .map(({ type, payload }) => [type, payload.code ?? payload.content ?? payload.request_id]);
    expect(told.sort()).toEqual([
      ["error", "id_reused"],
      ["message.ack", "a"],
      ["message.create", "one"],
    ]);
    expect(code).toBe(0);
  });

  test("keeps control characters escaped", async () => {
    const { code, out } = await run(["client", "-json"], {
      input: message("m", "\u001b[2J\u009b1m\u202e"),
    });
    expect(code).toBe(0);
    expect(out.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(frames(out).map(({ payload }) => payload.content)).toContain("\u001b[2J\u009b1m\u202e");
  });

  test("exits cleanly when its reader closes", async () => {
    await using client = await start(["client", "-json"]);
    client.child.stdin.write(message("m1", "hello"));
    await client.said(/message\.create/);
    client.child.stdout.destroy();
    const again = setInterval(
      () => client.child.stdin.write(message(`m${Math.random()}`, "more")),
      50,
    );
    const { code, err } = await client.ended;
    clearInterval(again);
    expect({ code, err }).toEqual({ code: 0, err: "" });
  });

  test("rejects a line without an end", async () => {
    const client = await start(["client", "-json"]);
    client.child.stdin.end("x".repeat(64 * 1024 * 1024));
    const { code, out } = await client.ended;
    expect([code, JSON.parse(out)]).toMatchObject([
      1,
      { type: "error", payload: { message: expect.stringContaining("maximum message size") } },
    ]);
  });

  test("prints a rejection and exits with 3 or 4", async () => {
    const wrong = { SERVICE_CHANNELS_PICO_CLIENT_TOKEN: "not-the-right-token" };
    const refused = await start(["client", "-json"], wrong);
    const { code, out } = await refused.ended;
    expect([code, frames(out).at(-1)?.payload.code]).toEqual([3, "token_mismatch"]);
    const alone = await start(["client", "-json", "-url", nobody]);
    const end = await alone.ended;
    expect([end.code, frames(end.out).at(-1)?.payload.code]).toEqual([4, "unreachable"]);
  });

  test("reconnects after a server restart", async () => {
    const port = await freePort();
    let there: Remote = await startRemote(undefined, { port });
    await using client = await start(["client", "-json", "-url", there.url]);
    client.child.stdin.write(message("m1", "before"));
    await client.said(/you said before/);
    await there[Symbol.asyncDispose]();
    client.child.stdin.write(message("m2", "meanwhile"));
    there = await startRemote(undefined, { port });
    await client.said(/you said meanwhile/);
    client.child.stdin.end();
    expect(await client.ended).toMatchObject({ code: 0 });
    await there[Symbol.asyncDispose]();
  });

  test("exits cleanly after a signal and resumes in the next process", async () => {
    const session = async (home?: string) => {
      await using client = await start(
        ["client", "-json"],
        home === undefined ? {} : { SERVICE_HOME: home },
      );
      client.child.stdin.write(message(`m${client.child.pid}`, "hello"));
      await client.said(/message\.create/);
      client.child.kill("SIGTERM");
      const { code, out, err } = await client.ended;
      expect({ code, err }).toEqual({ code: 0, err: "" });
      return { home: client.home, id: /"session_id":"(\w+)"/.exec(out)![1]! };
    };
    const { home, id } = await session();
    expect((await session(home)).id).toBe(id);
  });
});
