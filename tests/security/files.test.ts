import { chmod, mkdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseJson, parseYaml } from "../../lib/files/index.ts";
import { codeOf } from "../../kernel/index.ts";
import { files } from "../../plugins/token-store/index.ts";
import { rejection, signIn, tempHome, TOKEN } from "../support/dashboard-server.ts";
import { connectClient } from "../support/pico-server-harness.ts";
import { PICO_TOKEN, startLauncherServer } from "../support/launcher-server.ts";

const prototypeNames = Reflect.ownKeys(Object.prototype).length;
afterEach(() => {
  const { length } = Reflect.ownKeys(Object.prototype);
  if (length !== prototypeNames || "polluted" in {}) throw new Error("the prototype was changed");
});

const poisons = [
  '{"__proto__":{"polluted":1,"token":"x"}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"a":{"__proto__":{"polluted":1}}}',
  '{"\\u005f_proto__":{"polluted":1}}',
];

describe("request with __proto__", () => {
  const routes = [
    ["POST", "/login"],
    ["POST", "/setup"],
    ["POST", "/logout"],
    ["POST", "/api/signin-links"],
    ["POST", "/api/token/rotate"],
    ["POST", "/api/token/reveal"],
    ["POST", "/api/channels/pico/try"],
    ["POST", "/api/doctor"],
    ["POST", "/api/program/restart"],
    ["PUT", "/api/launcher"],
    ["PUT", "/api/channels/pico"],
    ["PUT", "/api/channels/pico_client"],
  ] as const;

  test("gets rejected as JSON and ignored as a form", async () => {
    await using testServer = await startLauncherServer();
    const me = { authorization: `Bearer ${TOKEN}`, "if-match": "x" };
    for (const [method, path] of routes) {
      const send = (type: string, body: string) =>
        testServer.request(path, { method, headers: { ...me, "content-type": type }, body });
      for (const body of poisons)
        expect((await send("application/json", body)).status, `${path} ${body}`).toBe(400);
      const form = "__proto__=1&__proto__[polluted]=1&constructor.prototype.polluted=1";
      expect((await send("application/x-www-form-urlencoded", form)).status, path).toBeLessThan(
        500,
      );
    }
    const query = "?__proto__[polluted]=1&__proto__=1&constructor=1&hasOwnProperty=1";
    for (const path of ["/", "/login", "/setup", "/api/log", "/api/connections", "/pico"]) {
      expect((await testServer.get(path + query, me)).status, path).toBeLessThan(500);
    }
  });

  test("keeps the channel connection open and gets no reply", async () => {
    await using testServer = await startLauncherServer();
    const peer = await connectClient(testServer.port, "/pico?session_id=__proto__", {
      token: PICO_TOKEN,
    });
    for (const frame of [
      ...poisons,
      '{"type":"__proto__"}',
      '{"type":"constructor"}',
      '{"type":"toString","payload":{}}',
      '{"type":"message.send","__proto__":{"payload":{"content":"x"}}}',
      '{"type":"message.send","payload":{"__proto__":{"content":"x"}}}',
    ]) {
      peer.send(frame);
      expect((await peer.next()).type).toBe("error");
    }
    for (const id of ["__proto__", "constructor", "hasOwnProperty"]) {
      peer.send({ type: "message.send", id, session_id: id, payload: { content: "hello" } });
      for (
        let frame = await peer.next();
        frame.type !== "message.create";
        frame = await peer.next()
      ) {
        expect(frame.type).toMatch(/^typing/);
      }
    }
    peer.ws.terminate();
  });
});

describe("configuration file with __proto__", () => {
  test.each([
    ["launcher-config.json", '{"__proto__":{"polluted":1,"public":true}}'],
    ["launcher-config.json", '{"constructor":{"prototype":{"polluted":1}}}'],
    ["config.json", '{"channels":{"pico":{"__proto__":{"polluted":1,"enabled":true}}}}'],
    ["config.json", '{"__proto__":{"channels":{"pico":{"enabled":true}}}}'],
    [
      ".security.yml",
      "__proto__:\n  channels:\n    pico:\n      token: planted-by-the-prototype\n",
    ],
    [".security.yml", "channels:\n  __proto__:\n    pico: {token: planted-by-the-prototype}\n"],
    [".security.yml", "<<: {__proto__: {polluted: 1}}\nconstructor: {prototype: {polluted: 1}}\n"],
  ])("%s: %s", async (name, text) => {
    await using folder = await tempHome();
    await writeFile(join(folder.home, name), text, { mode: 0o600 });
    const started = await startLauncherServer(
      {},
      { home: folder.home, env: { SERVICE_LAUNCHER_TOKEN: TOKEN } },
    ).catch((e: unknown) => e);
    if (started instanceof Error) return expect(codeOf(started)).not.toBe("internal");
    const testServer = started as Awaited<ReturnType<typeof startLauncherServer>>;
    const { status, body } = {
      status: (await testServer.get("/pico")).status,
      body: await (await testServer.get("/api/auth/status")).text(),
    };
    expect(status).toBe(404);
    expect(body).not.toContain("polluted");
    await testServer[Symbol.asyncDispose]();
  });
});

describe("hostile configuration file", () => {
  const laughs = [
    "a: &a [x,x,x,x,x,x,x,x,x]",
    ..."bcdefghij".split("").map((name, at) => {
      const before = "abcdefghi"[at];
      return `${name}: &${name} [${Array<string>(9).fill(`*${before}`).join()}]`;
    }),
  ].join("\n");

  function refused(read: () => unknown): void {
    let error: unknown;
    try {
      read();
    } catch (thrown) {
      error = thrown;
    }
    expect(codeOf(error)).toBe("FILE_CORRUPT");
    expect((error as Error).message).toMatch(/^the\.file/);
    expect((error as Error).message.length).toBeLessThan(400);
  }

  test.each([
    ["a billion laughs", laughs],
    ["lists in lists", `a: ${"[".repeat(20_000)}${"]".repeat(20_000)}`],
    ["maps in maps", Array.from({ length: 1_500 }, (_, at) => `${" ".repeat(at)}a:`).join("\n")],
    ["two documents", "a: 1\n---\na: 2\n"],
    ["a list", "- a"],
  ])("YAML: %s", (_, text) => refused(() => parseYaml(text, "the.file")));

  test.each([
    ["an array", "[1]"],
    ["a key twice", '{"token":"a","token":"b"}'],
    ["cut off in the middle", `{"a":"${"x".repeat(1_000_000)}`],
  ])("JSON: %s", (_, text) => refused(() => parseJson(text, "the.file")));

  test("reads a YAML tag of another language as text", () => {
    expect(parseYaml("a: !!js/function 'x'", "the.file")).toEqual({ a: "x" });
  });

  test("reads deeply nested JSON and long strings", () => {
    expect(
      parseJson(`{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`, "the.file"),
    ).toHaveProperty("a");
    expect(parseJson(`{"a":"${"\\\\".repeat(1_500_000)}"}`, "the.file")).toHaveProperty("a");
  });
});

describe.skipIf(process.platform === "win32")("secret files", () => {
  let folder: Awaited<ReturnType<typeof tempHome>>;
  beforeEach(async () => {
    folder = await tempHome();
  });
  afterEach(() => folder[Symbol.asyncDispose]());
  const at = (...names: string[]): string => join(folder.home, ...names);
  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  const store = (home = folder.home) => files({ home, env: {} });

  test("restricts the mode of readable files, also behind symbolic links", async () => {
    await mkdir(at("elsewhere"));
    await mkdir(at("home"), { mode: 0o700 });
    await writeFile(at("elsewhere", "secrets.yml"), `channels: {pico: {token: ${PICO_TOKEN}}}\n`);
    await symlink(at("elsewhere", "secrets.yml"), at("home", ".security.yml"));
    await writeFile(at("home", "launcher-config.json"), `{"launcher_token":"${TOKEN}"}`);
    for (const path of [at("elsewhere", "secrets.yml"), at("home", "launcher-config.json")])
      await chmod(path, 0o666);
    const form = store(at("home"));
    expect((await form.resolve("pico"))?.value).toBe(PICO_TOKEN);
    expect((await form.resolve("launcher"))?.value).toBe(TOKEN);
    expect(await modeOf(at("elsewhere", "secrets.yml"))).toBe(0o600);
    expect(await modeOf(at("home", "launcher-config.json"))).toBe(0o600);
  });

  test("writes to the target of a symbolic link and keeps it", async () => {
    await mkdir(at("home"), { mode: 0o700 });
    await writeFile(at("secrets.yml"), "", { mode: 0o600 });
    await symlink(at("secrets.yml"), at("home", ".security.yml"));
    await store(at("home")).write("pico", PICO_TOKEN, { setupPending: false });
    expect(await readlink(at("home", ".security.yml"))).toBe(at("secrets.yml"));
    expect(await readFile(at("secrets.yml"), "utf8")).toContain(PICO_TOKEN);
  });

  test("fails for link loops and folders instead of dropping the token", async () => {
    await symlink(at("b.yml"), at(".security.yml"));
    await symlink(at(".security.yml"), at("b.yml"));
    await expect(store().resolve("pico")).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
    await mkdir(at("launcher-config.json"));
    await expect(store().resolve("launcher")).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
  });
});

test.skipIf(process.platform === "win32")(
  "keeps the control socket private, also in a readable folder",
  async () => {
    await using folder = await tempHome();
    const run = join(folder.home, "run");
    await mkdir(run);
    await chmod(run, 0o777);
    const local = {
      socket: join(run, "launcher.sock"),
      note: join(run, "launcher.json"),
      pid: process.pid,
    };
    await writeFile(local.socket, "left by another process");
    await using testServer = await startLauncherServer({}, { dashboard: { local } });
    const modes = await Promise.all(
      [run, local.socket, local.note].map(async (path) => (await stat(path)).mode & 0o777),
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
    expect(
      (await testServer.get("/local/tokens", { authorization: `Bearer ${TOKEN}` })).status,
    ).toBe(404);
  },
);

test("rejects session names that are too long or malformed", async () => {
  await using testServer = await startLauncherServer();
  const me = { authorization: `Bearer ${PICO_TOKEN}` };
  for (const name of [
    "x".repeat(257),
    "\u00e9".repeat(129),
    "a%0d%0aX-Injected:1",
    "a%00b",
    "%1b[2J",
    "%c2%9b2J",
    "%7f",
  ]) {
    const listened = await testServer.get(`/pico/events?session_id=${name}`, me);
    expect(listened.status, name).toBe(400);
    expect(listened.headers.get("x-injected")).toBeNull();
  }
  const json = { method: "POST", headers: { ...me, "content-type": "application/json" } };
  for (const session_id of ["x".repeat(257), "\u0000", "\u001b[2J", "\ud800", 7, {}, ["a"]]) {
    const body = JSON.stringify({ content: "hello", session_id });
    expect((await testServer.request("/pico/messages", { ...json, body })).status, body).toBe(400);
  }
});

test("never sets tokens, paths or plugins over the settings API", async () => {
  await using testServer = await startLauncherServer();
  const me = await signIn(testServer);
  const put = (body: object) =>
    testServer.request("/api/launcher", {
      method: "PUT",
      headers: { ...me, "content-type": "application/json", "if-match": "x" },
      body: JSON.stringify(body),
    });
  for (const field of [
    "launcher_token",
    "setup_pending",
    "tls",
    "trusted_proxies",
    "host",
    "public",
    "port",
    "base_path",
  ]) {
    await rejection(await put({ [field]: "x" }), 422, "field_not_editable");
  }
  await rejection(await put({ allowed_hosts: ["*.example"] }), 400, "invalid_body");
  await rejection(
    await put({ allowed_hosts: ["*.example"], current: "not-the-token" }),
    403,
    "invalid_token",
  );
});
