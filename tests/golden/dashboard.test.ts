// The dashboard API: sign-in, setup, status, tokens, settings, channel, conversations and events.
import { describe, test } from "vitest";
import { expectGolden } from "./golden.ts";
import { open, recordOf, send } from "./pico.ts";
import type { Recording } from "./recorder.ts";
import { bearer, startService, tokens, type Service } from "./service.ts";

const owner = bearer(tokens.launcher);
const current = tokens.launcher;
const wrong = "wrong-token-of-the-golden-files-0123456789-ab";

/** The cookie of a response, as a browser sends it back. */
function cookieOf(lines: readonly string[]): string {
  const line = lines.find((each) => /^set-cookie: .*_session_/i.test(each));
  return `Cookie: ${/: ([^;]+)/.exec(line ?? "")?.[1]}`;
}

function client(record: Recording, ...auth: string[]) {
  const ask =
    (method: string) =>
    (path: string, body?: object | string, ...headers: string[]) =>
      record.ask(`${method} ${path}`, { headers: [...auth, ...headers], ...(body && { body }) });
  return {
    get: (path: string, ...headers: string[]) => ask("GET")(path, undefined, ...headers),
    post: ask("POST"),
    put: ask("PUT"),
    patch: ask("PATCH"),
    delete: ask("DELETE"),
  };
}

/** One conversation with an answer, through the channel. */
async function talk(service: Service, session: string, content: string): Promise<void> {
  const peer = await open(recordOf(service), "A", `/pico?session_id=${session}&pico_ext=1`);
  peer.send(send("1", content));
  await peer.until("message.ack");
  await peer.cut();
  await service.untilIdle();
}

describe("sign-in and setup", () => {
  test("have the responses of the golden file", async () => {
    await using service = await startService({ inMemory: true });
    const record = recordOf(service);
    const guest = client(record);
    const browser = ["Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: none"];

    record.title("a guest");
    await guest.get("/healthz");
    await guest.get("/readyz");
    await guest.get("/api/auth/status");
    await guest.get("/api/status");
    await guest.get("/", ...browser);
    await guest.get("/api/unknown");

    record.title("sign-in");
    const cookie = cookieOf(await guest.post("/login", { token: current, next: "/security" }));
    const form = ["Content-Type: application/x-www-form-urlencoded", ...browser];
    await guest.post("/login", `token=${current}&next=%2Fchat`, ...form);
    await guest.post("/login", { token: wrong });
    await guest.post("/login", { token: "" });
    await guest.post("/login", { token: current }, "Origin: https://evil.example");
    await guest.post("/login", "{", "Content-Type: application/json");
    await guest.post("/login", { token: "x".repeat(5_000) });

    record.title("a signed-in browser");
    const me = client(record, cookie);
    await me.get("/api/auth/status");
    await me.get("/api/sessions");
    await me.post("/api/signin-links", {}, "Origin: https://evil.example");
    const made = (await me.post("/api/signin-links")).at(-1)!;
    const link = new URL((JSON.parse(made) as { url: string }).url);
    await guest.post("/login", { token: link.searchParams.get("link") });
    await guest.post("/login", { token: link.searchParams.get("link") });
    await me.delete("/api/signin-links");
    await me.delete("/api/sessions", { current: wrong });
    await me.delete("/api/sessions", { current });
    await me.get("/api/sessions");
    await me.post("/logout");
    await me.get("/api/sessions");

    record.title("too many wrong tokens");
    for (let n = 0; n < 10; n += 1)
      await recordOf(service).ask("POST /login", {
        body: { token: `wrong ${n}` },
        from: "127.0.0.2",
      });
    await record.ask("POST /login", { body: { token: "wrong" }, from: "127.0.0.2" });
    await client(record, owner).post("/api/unblock", { address: "127.0.0.2", current });
    await record.ask("POST /login", { body: { token: "wrong" }, from: "127.0.0.2" });

    await using fresh = await startService({ inMemory: true, setup: true });
    const code = fresh.kernel.services.tokenSecrets.reveal("launcher")!;
    const setup = recordOf(fresh);
    setup.rename(code, "<setup code>");
    const visitor = client(setup);
    await visitor.get("/api/auth/status");
    const answer = await visitor.post("/login", { token: code });
    const line = answer.find((each) => /^set-cookie: .*_setup_/i.test(each))!;
    const guided = client(setup, `Cookie: ${/: ([^;]+)/.exec(line)?.[1]}`);
    await visitor.post("/setup/token");
    await guided.post("/setup/token");
    await guided.post("/setup", { token: "short", confirm: "short" });
    await guided.post("/setup", { token: current, confirm: wrong });
    await guided.post("/setup", { token: current, confirm: current });
    await guided.post("/setup/token");
    await guided.post("/setup", { keep: true });
    await expectGolden("sign-in.txt", record.text);
    await expectGolden("setup.txt", setup.text);
  });
});

describe("the dashboard API", () => {
  test("sends the responses of the golden file", async () => {
    await using service = await startService();
    const record = recordOf(service);
    const me = client(record, owner);

    record.title("events");
    const events = await record.open("GET /api/events", { headers: [owner], name: "E" });
    await events.until("hello");

    record.title("status and figures");
    await me.get("/api/status");
    await me.get("/api/figures");
    await me.get("/api/tokens");
    await me.get("/api/channels");

    record.title("connections");
    const peer = await open(record, "A", "/pico?session_id=s");
    peer.send(send("1", "hello"));
    await peer.until("message.create");
    const page = (await me.get("/api/connections?limit=1&newest=1")).at(-1)!;
    const { connections } = JSON.parse(page) as { connections: { id: string }[] };
    await me.get("/api/connections?limit=0");
    await me.get("/api/requests?session=s");
    await me.delete(`/api/connections/${connections[0]!.id}`);
    await peer.until("4403");
    await peer.cut();
    await service.untilIdle();
    await me.delete(`/api/connections/${connections[0]!.id}`);

    record.title("settings");
    const sections = (await me.get("/api/settings")).at(-1)!;
    const { etag } = (
      JSON.parse(sections) as { sections: { section: string; etag: string }[] }
    ).sections.find(({ section }) => section === "channels.pico")!;
    const change = (body: object, ...headers: string[]) =>
      me.put("/api/channels/pico", body, ...headers);
    await change({ max_connections: 50 });
    await change({ max_connections: 50 }, "If-Match: x");
    await change({ max_connections: "many" }, `If-Match: ${etag}`);
    await change({ unknown: 1 }, `If-Match: ${etag}`);
    await change({ allow_token_query: true }, `If-Match: ${etag}`);
    await change({ max_connections: 50 }, `If-Match: ${etag}`);
    await me.put("/api/channels/unknown", {});

    record.title("tokens");
    const rotate = (body: object) => me.post("/api/token/rotate", body);
    await rotate({ which: "pico" });
    await rotate({ which: "pico", current: wrong });
    await rotate({ which: "pico", current, token: "short" });
    await rotate({
      which: "pico",
      current,
      token: "pico-token-2-of-the-golden-files-0123456789-ab",
    });
    await rotate({ which: "unknown", current });
    await me.post("/api/token/reveal", { which: "openai", current });
    await me.post("/api/token/reveal", { which: "launcher", current });

    record.title("log, doctor, program and plugins");
    await me.get("/api/log?level=warn&text=a&limit=10");
    await me.get("/api/log?level=unknown");
    await me.get("/api/log/download");
    await me.post("/api/doctor", {});
    await me.post("/api/program/restart");
    await me.get("/api/x/plugin/a");

    record.title("rejected requests");
    await client(record, bearer("wrong")).get("/api/status");
    await me.get("/api/channels", "Cookie: a=b", "Origin: https://evil.example");
    await me.post("/api/status", {});
    await me.post("/api/unblock", "x", "Content-Type: text/plain");
    await me.post("/api/unblock", { address: "", current });
    await me.post(
      "/api/token/rotate",
      `{"x":"${"x".repeat(1_100_000)}"}`,
      "Content-Type: application/json",
    );
    await me.get("/api/status", "Host: evil.example");
    await events.until("token");
    await events.cut();
    await me.post("/api/channels/pico/try");

    record.title("names and types of the metrics");
    const metrics = await recordOf(service).ask("GET /metrics", { headers: [owner] });
    const own = /^# TYPE (?!nodejs_|process_)/;
    for (const line of metrics) if (own.test(line)) record.write(line.slice("# ".length));
    await expectGolden("dashboard-api.txt", record.text);
  });
});

describe("the API of conversations", () => {
  test("sends the responses of the golden file", async () => {
    await using service = await startService();
    const record = recordOf(service);
    const me = client(record, owner);
    await talk(service, "kitchen", "Where is the blue teapot?");
    await talk(service, "garden", "Good morning");

    const list = (query: string) => me.get(`/api/conversations${query}`);
    const first = (await list("?limit=1")).at(-1)!;
    const { before, conversations } = JSON.parse(first) as {
      before: string;
      conversations: { id: string }[];
    };
    await list(`?before=${encodeURIComponent(before)}`);
    await list("?query=TEAPOT");
    await list("?session=garden");
    await list("?limit=x");
    await me.get("/api/conversations/search?q=morning");
    await me.get("/api/conversations/search");
    const path = `/api/conversations/${conversations[0]!.id}`;
    const turns = (await me.get(`${path}?limit=1`)).at(-1)!;
    const cursor = encodeURIComponent((JSON.parse(turns) as { before: string }).before);
    await me.get(`${path}?before=${cursor}`);
    await me.get("/api/conversations/unknown");
    await me.patch(path, { title: "A greeting" });
    await me.patch(path, { title: "" });
    await me.patch(path, { title: 7 });
    await me.get(`${path}/export`);
    await me.get(`${path}/export?format=markdown`);
    await me.get(`${path}/export?format=xml`);
    await me.delete(path);
    await me.delete(path);
    await me.get(path);

    await using inMemory = await startService({ inMemory: true });
    const memory = recordOf(inMemory);
    memory.title("conversations in memory");
    for (const query of ["", "?session=s", "/search?q=a"])
      await client(memory, owner).get(`/api/conversations${query}`);
    await expectGolden("conversations-api.txt", `${record.text}\n${memory.text}`);
  });
});
