import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLog } from "../../bin/log/index.ts";
import { signedIn, TOKEN } from "../support/dashboard-server.ts";
import { client } from "../support/pico-server-harness.ts";
import { PICO_TOKEN, request, startDoor } from "../support/launcher-server.ts";

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
  await using door = await startDoor({ login_attempts_per_minute: 1_000 });
  const me = await signedIn(door);
  for (const text of hostile) {
    const value = asHeader(text);
    const inUrl = encodeURIComponent(text);
    await door.post("/login", { token: text });
    await door.form("/login", { token: text, next: text });
    await door.post("/setup", { code: text, token: text, confirm: text });
    await door.post("/api/token/reveal", { which: "pico", current: text }, me);
    await door.post("/api/token/rotate", { which: text, current: TOKEN }, me);
    await door.open(`/?token=${inUrl}`);
    await door.open(`/login?link=ott_${inUrl}&next=${inUrl}&error=${inUrl}`);
    await door.request(`/${inUrl}`, { headers: me });
    await door.request(`/api/sessions/${inUrl}`, { method: "DELETE", headers: me });
    await door.get(`/pico?token=${inUrl}&session_id=${inUrl}`, {
      authorization: `Bearer ${PICO_TOKEN}`,
    });
    await door.attack(
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
    await door.attack(request("GET /login", [`Host: ${value.trim() || "?"}`]));
    await door.post("/login", { token: TOKEN }, { "user-agent": value });
  }
  const peer = await client(door.port, "/pico", { token: PICO_TOKEN });
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
  const file = join(door.home, "logs", "launcher.log");
  const { log, close } = await createLog({
    file,
    pretty: true,
    stdout: terminal,
    stderr: terminal,
    level: "debug",
  });
  const said = [...door.lines];
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
