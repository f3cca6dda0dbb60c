import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLog } from "../../bin/log/index.ts";
import { signIn, TOKEN } from "../support/dashboard-server.ts";
import { connectClient } from "../support/pico-server-harness.ts";
import { PICO_TOKEN, request, startLauncherServer } from "../support/launcher-server.ts";

/** Texts that could forge a log line or control a terminal. */
const hostile = [
  '\n{"level":30,"msg":"signed in"}',
  "\r\u001b[2J\u001b]0;owned\u0007",
  "\u009b2J\u0085\u2028",
  "\\u001b[31m",
  '","msg":"x',
];
const asHeader = (text: string): string =>
  text.replace(/[\r\n\0]/g, "").replace(/[^\x20-\xff]/g, "");

test("escapes client input and hides tokens", async () => {
  await using testServer = await startLauncherServer({ login_attempts_per_minute: 1_000 });
  const me = await signIn(testServer);
  for (const text of hostile) {
    const value = asHeader(text);
    const inUrl = encodeURIComponent(text);
    await testServer.post("/login", { token: text });
    await testServer.form("/login", { token: text, next: text });
    await testServer.post("/setup", { code: text, token: text, confirm: text });
    await testServer.post("/api/token/reveal", { which: "pico", current: text }, me);
    await testServer.post("/api/token/rotate", { which: text, current: TOKEN }, me);
    await testServer.open(`/?token=${inUrl}`);
    await testServer.open(`/login?link=ott_${inUrl}&next=${inUrl}&error=${inUrl}`);
    await testServer.request(`/${inUrl}`, { headers: me });
    await testServer.request(`/api/sessions/${inUrl}`, { method: "DELETE", headers: me });
    await testServer.get(`/pico?token=${inUrl}&session_id=${inUrl}`, {
      authorization: `Bearer ${PICO_TOKEN}`,
    });
    await testServer.attack(
      request("GET /", [
        "Host: localhost",
        `X-Forwarded-For: ${value}`,
        `User-Agent: ${value}`,
        `Origin: ${value}`,
        `Cookie: service_session_x=${value}`,
        `Authorization: Bearer ${value}`,
        `Referer: ${value}`,
      ]),
    );
    await testServer.attack(request("GET /login", [`Host: ${value.trim() || "?"}`]));
    await testServer.post("/login", { token: TOKEN }, { "user-agent": value });
  }
  const peer = await connectClient(testServer.port, "/pico", { token: PICO_TOKEN });
  for (const text of hostile)
    peer.send({ type: text, id: text, session_id: text, payload: { content: text } });
  await peer.settled();
  peer.ws.close(4999, "\u001b[2J\nbye");
  await peer.closed;

  let shown = "";
  const terminal = {
    isTTY: false,
    write: (text: string) => void (shown += text),
    on: () => undefined,
  };
  const file = join(testServer.home, "logs", "launcher.log");
  const { log, close } = await createLog({
    file,
    pretty: true,
    stdout: terminal,
    stderr: terminal,
    level: "debug",
  });
  const said = [...testServer.lines];
  for (const { level, text, ...fields } of said) log[level](fields, text);
  // The same must hold if such texts reach a field, a message or an error.
  for (const text of hostile) log.error({ agent: text, err: new Error(text) }, text);
  close();

  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  expect(lines.length).toBe(said.length + hostile.length);
  for (const line of lines)
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number) as number });
  expect(shown.replace(/[\t\n]/g, "")).not.toMatch(/\p{Cc}/u);
  const refused = lines.filter((line) => line.includes('"msg":"sign-in failed"'));
  expect(refused.length).toBeGreaterThan(0);
  for (const line of refused)
    expect(JSON.parse(line)).toMatchObject({ ip: "127.0.0.1", reason: "invalid_token" });
  for (const secret of [TOKEN, PICO_TOKEN]) expect(lines.join() + shown).not.toContain(secret);
});
