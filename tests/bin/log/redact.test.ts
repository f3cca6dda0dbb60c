import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createRedactor, redactLine } from "../../../bin/log/index.ts";
import { redactSuspicious } from "../../../bin/log/redact.ts";
import { openLog, temporaryFolder } from "./support.ts";

const secret = "Zq9-x_Zq9.secret";

test.each([
  `GET /?token=${secret}&a=1 HTTP/1.1`,
  `GET /pico?a=1&token=${secret}`,
  `GET /login?next=%2F%3Ftoken%3D${secret}%26a`,
  `/?code=${secret}`,
  `/?link=${secret}#x`,
  `http://localhost/in/ott_${secret}`,
  `{"deep":{"er":[{"token":"${secret}"}]}}`,
  `{"launcher_token" : "a\\"b${secret}"}`,
  `{"botToken":"${secret}","api_key":"${secret}","apiKey":"${secret}","client-secret":"${secret}"}`,
  `{"password":12345678,"x":"${secret.slice(0, 0)}"}`.replace("12345678", `"${secret}"`),
  `{"msg":"body {\\"token\\":\\"${secret}\\",\\"a\\":1}"}`,
  `{"msg":"\\"{\\\\\\"token\\\\\\":\\\\\\"${secret}\\\\\\"}\\""}`,
  `{"headers":{"authorization":"Bearer ${secret}","cookie":"a=b; sid=${secret}","set-cookie":["sid=${secret}; Path=/"]}}`,
  `{"rawHeaders":["Authorization","Bearer ${secret}","Cookie","sid=${secret}","Referer","/${secret}"]}`,
  `{"token":{"value":"${secret}","at":["${secret}"]}}`,
  `{"cookies":{"sid":"${secret}"},"tokens":["${secret}"]}`,
  `{"msg":"Authorization: Bearer ${secret}\\nHost: x"}`,
  `{"msg":"Cookie: a=\\"b\\"; sid=${secret}"}`,
  `Sec-WebSocket-Protocol: pico, token.${secret}`,
  `offered pico, token64.${secret}`,
  `sent Bearer ${secret}`,
  `sent bearer%20${secret}`,
  `SERVICE_LAUNCHER_TOKEN=${secret} npm start`,
  `token: "x" and pico_token: ${secret}`,
  `launcher token (first run): ${secret}`,
  `pasted as Bearer <${secret}> and token.<${secret}>`,
  `Authorization: <${secret}>`,
  `Authorization: Bearer <token>${secret} and Bearer <token>${secret}`,
  `pasted behind it, token.<value>${secret} and token64.<base64url>.${secret}`,
])("redacts the secret in %s", (line) => {
  expect(redactLine(line)).not.toContain("Zq9");
  expect(redactLine(line)).toContain("[redacted]");
  if (line.startsWith("{")) JSON.parse(redactLine(line));
});

test("replaces a number in a secret field and keeps valid JSON", () => {
  expect(JSON.parse(redactLine('{"a":{"password":12345678},"b":1}'))).toEqual({
    a: { password: "[redacted]" },
    b: 1,
  });
});

test.each([
  '{"level":30,"msg":"launcher token source: env"}',
  '{"level":50,"code":"ENOENT","link":"docs/errors.md","msg":"no token. Set one in .security.yml"}',
  '{"reason":"invalid_token","ip":"192.0.2.1","via":"form"}',
  '{"msg":"{\\"reason\\":\\"invalid_token\\",\\"ip\\":\\"192.0.2.1\\"}"}',
  '{"msg":"token-store started","tokenSource":"random","tokens_used":true}',
  '{"msg":"the cookie was refused","stack":"at verify (/app/plugins/token-store/token.ts:1:2)"}',
  "GET /api/x?page=2&codec=1#top 200",
  '{"msg":"Is the header \\"Authorization: Bearer <token>\\"? Is allow_token_query on, if it is in the URL?"}',
  '{"msg":"browsers cannot send it as `token.<value>`; they can use `token64.<base64url>`, or token.<token>"}',
])("leaves %s unchanged", (line) => {
  expect(redactLine(line)).toBe(line);
});

test("skips only lines in which no rule matches", () => {
  const word = fc.constantFrom(
    ..."Token tokens passwd password passphrase secret api-key API_KEY private_key credentials authorization Cookie".split(
      " ",
    ),
    ..."set-cookie sec-websocket-protocol Referer referrer x-api-key Bearer Basic ott_abc token. code= link= key%3d".split(
      " ",
    ),
    ...'? & # ; %3f %26 %23 = : " \\ { } [ ] , abcdefghijklmnopq 12345678 launcher (first run):'.split(
      " ",
    ),
    " ",
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const line = words.join("");
      expect(redactLine(line)).toBe(redactSuspicious(line));
    }),
    { numRuns: 2_000 },
  );
});

test("changes nothing when it redacts twice", () => {
  const word = fc.constantFrom(
    '"',
    "\\",
    "token",
    ":",
    "=",
    "Bearer ",
    "cookie",
    "{",
    "}",
    "[",
    "]",
    ",",
    " ",
    "?",
    "&",
    "abcdefgh",
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 20 }), (words) => {
      const once = redactLine(words.join(""));
      expect(redactLine(once)).toBe(once);
    }),
  );
});

test("redacts a line of 1 MB in less than two seconds", () => {
  for (const part of [
    '\\"',
    '"token":',
    "Bearer ",
    "token=",
    '{"token":[',
    "cookie: a",
    "\\\\",
    "?token=",
    "a-",
    "_.-",
  ]) {
    const before = process.cpuUsage();
    redactLine(`{"msg":"${part.repeat(1_000_000 / part.length)}"}`);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000); // milliseconds of CPU time, which other processes do not change
  }
});

const urlSafe = fc
  .base64String({ minLength: 12, maxLength: 43 })
  .map((text) => `K${text.replace(/[+/=]/g, "_")}`);
const anyText = fc
  .string({ unit: "grapheme", minLength: 8, maxLength: 24 })
  .map((text) => text.trim());
const token = fc.oneof(
  urlSafe,
  anyText.filter((text) => text.length >= 8),
);

/** All known ways in which a value can reach the log. */
const plants: Record<string, (value: string) => object> = {
  field: (value) => ({ a: { b: [{ c: value }] } }),
  key: (value) => ({ a: { [value]: 1 } }),
  message: (value) => ({ msg: `sent ${value} to the server` }),
  error: (value) => ({
    err: new Error(`bad ${value}`, { cause: new Error(`because of ${value}`) }),
  }),
  otherError: (value) => ({ error: Object.assign(new Error("x"), { details: { value } }) }),
  url: (value) => ({ url: `/pico?token=${encodeURIComponent(value)}&a=1` }),
  form: (value) => ({ body: new URLSearchParams({ launcher: value }).toString() }),
  header: (value) => ({ headers: { authorization: `Bearer ${value}`, "x-other": `v ${value}` } }),
  latin1: (value) => ({ raw: Buffer.from(value, "utf8").toString("latin1") }),
  protocol: (value) => ({ offered: `pico, token64.${Buffer.from(value).toString("base64url")}` }),
  base64: (value) => ({ data: Buffer.from(value).toString("base64") }),
  quoted: (value) => ({
    text: JSON.stringify({ deep: value }),
    twice: JSON.stringify(JSON.stringify({ deep: value })),
  }),
  buffer: (value) => ({ data: Buffer.from(value) }),
};

test("redacts a known token in every position and encoding", async () => {
  await fc.assert(
    fc.asyncProperty(token, fc.constantFrom("debug", "info", "error"), async (value, level) => {
      const file = join(temporaryFolder(), "logs/launcher.log");
      const { log, redactor, stdout, close } = await openLog({
        file,
        level: "debug",
        pretty: true,
      });
      redactor.add(value);
      for (const plant of Object.values(plants)) {
        log[level as "info"](plant(value), "planted");
        log.child(plant(value))[level as "info"]({}, `with ${value}`);
      }
      close();
      const lines = readFileSync(file, "utf8").trim().split("\n");
      expect(lines).toHaveLength(2 * Object.keys(plants).length);
      for (const line of lines)
        expect(texts(JSON.parse(line)).filter((text) => reveals(text, value))).toEqual([]);
      expect(reveals(stdout(), value)).toBe(false);
    }),
    { numRuns: 60 },
  );
});

test("redacts an unknown token next to a telling name", async () => {
  const named = ["url", "header", "protocol"].map((name) => plants[name]!);
  const more = [
    (value: string) => ({
      deep: { er: [{ token: value, password: value, "set-cookie": [value] }] },
    }),
    (value: string) => ({ note: `Authorization: Bearer ${value}` }),
    (value: string) => ({ err: new Error(`GET /?token=${value} failed`) }),
    (value: string) => ({
      text: JSON.stringify({ api_key: value }),
      rawHeaders: ["Cookie", `sid=${value}`],
    }),
  ];
  await fc.assert(
    fc.asyncProperty(urlSafe, async (value) => {
      const { log, stdout } = await openLog({});
      for (const plant of [...named, ...more])
        log.info({ ...plant(value), "x-other": 1 }, "planted");
      expect(stdout().replace(/"x-other":"v [^"]*"/g, "")).not.toContain(value);
    }),
    { numRuns: 60 },
  );
});

test("keeps the newest of more than a hundred values", () => {
  const redactor = createRedactor();
  for (let i = 0; i < 150; i++) redactor.add(`generated-${i}-value`);
  expect(redactor.redact("generated-149-value generated-60-value")).toBe("[redacted] [redacted]");
});

/** Returns all keys and strings in a value. */
function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every((each) => typeof each === "number"))
    return [Buffer.from(value).toString()];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...texts(inner)]);
}

function reveals(text: string, value: string): boolean {
  const readings = [
    text,
    decoded(text),
    decoded(text.replaceAll("+", " ")),
    Buffer.from(text, "latin1").toString("utf8"),
  ];
  const words = text
    .split(/[^\w+/=-]+/)
    .flatMap((word) => Buffer.from(word.replace(/^.*\./, ""), "base64").toString());
  return [...readings, ...words].some(
    (reading) => reading.includes(value) || reading.replaceAll("\\", "").includes(value),
  );
}

function decoded(text: string): string {
  return text.replace(/(%[0-9a-f]{2})+/gi, (run) =>
    Buffer.from(run.replaceAll("%", ""), "hex").toString(),
  );
}

test.each(["2026-11-28", "2026", "11:09:39", "time"])(
  "keeps the time of a line if a token is %s",
  (token) => {
    const redactor = createRedactor();
    redactor.add(token);
    const start = '{"level":"info","time":"2026-11-28T11:09:39.123Z"';
    const line = redactor.redact(`${start},"msg":"it is ${token}"}`);
    expect(line).toBe(`${start},"msg":"it is [redacted]"}`);
    expect(redactor.redact(`${token} is plain`)).toBe("[redacted] is plain");
  },
);
