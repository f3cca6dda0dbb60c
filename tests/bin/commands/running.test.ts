import { createServer } from "node:net";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../../bin/commands/command.ts";
import { withCommandLine, type CommandResult } from "../../support/command-context.ts";

const OWN = "chosen-by-the-owner-0123456789-abcdefghijklm";
const config = { launcher_token: OWN };
const cookieOf = (answer: Response): string => answer.headers.getSetCookie()[0]!.split(";")[0]!;
const signIn = (base: URL, token: string): Promise<Response> =>
  fetch(new URL("/login", base), {
    method: "POST",
    headers: { "content-type": "application/json", "user-agent": "Tester\u009b2J/1" },
    body: JSON.stringify({ token }),
  });
describe("without a running launcher", () => {
  test.each([
    "open -print",
    "sessions list",
    "sessions revoke 01234567",
    "stop",
    "unblock",
    "status",
  ])("%j reports it and exits with code 4", (line) =>
    withCommandLine(async (ownership) => {
      expect(await ownership.run(line)).toMatchObject({
        code: 4,
        out: "",
        said: expect.stringContaining("no launcher"),
      });
      expect((await ownership.run(`${line} -json`)).json()).toMatchObject({ error: "not_running" });
    }),
  );

  test("reports a home whose socket path is too long", () =>
    withCommandLine(
      async (ownership) => {
        expect((await ownership.run("status")).said).toContain(
          "cannot be reached: the path of its control socket is too long",
        );
        expect((await ownership.run("status -json")).json()).toMatchObject({ error: "no_socket" });
      },
      {},
      "a-long-name-".repeat(9),
    ));
});

describe("with a running launcher", () => {
  test("suggests a command and starts no launcher after a typing error", () =>
    withCommandLine(async (ownership) => {
      await expect(ownership.run("stauts")).rejects.toThrow(
        '"stauts" is not a command. Did you mean "status"?',
      );
      await expect(ownership.run("open sesame")).rejects.toThrow(UsageError);
    }));

  test("status shows the state and rejected edits of the settings", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", config);
      const { base } = await ownership.start();
      const { code, out } = await ownership.run("status");
      expect([code, out]).toEqual([0, expect.stringMatching(/^State +running$/m)]);
      expect((await ownership.run("status -json")).json()).toMatchObject({
        running: true,
        state: "running",
        version: "0.0.0",
        addresses: [base.href],
        sessions: 0,
      });
      await ownership.write("config.json", "{");
      await expect
        .poll(async () => (await ownership.run("status")).out)
        .toMatch(/^Files +An edit of the settings was rejected: \S+config\.json, line 1/m);
    }));

  test("status and doctor name the protocols that are on, with their URLs", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", config);
      const { kernel } = await ownership.start();
      expect((await ownership.run("status")).out).not.toContain("OpenAI");
      const { settings, tokenSecrets, openai } = kernel.services;
      await tokenSecrets.replace("openai", { expect: 0 });
      const sections = await settings.describe();
      const { etag } = sections.find(({ section }) => section === "channels.openai")!;
      await settings.update("channels.openai", { enabled: true }, etag);
      const url = openai.status().url!;
      expect(url).toMatch(/^http:.*\/v1$/);
      expect((await ownership.run("status")).out).toContain(`OpenAI API on: ${url}\n`);
      const { out } = await ownership.run("doctor");
      expect(out).toContain(url);
    }));

  test("open -print prints a link that signs in once", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", config);
      const { base } = await ownership.start();
      const { code, out } = await ownership.run("open -print");
      expect(code).toBe(0);
      const link = new URL(out.trim());
      expect([link.origin, link.pathname]).toEqual([base.origin, "/login"]);
      const token = link.searchParams.get("link")!;
      expect((await signIn(base, token)).status).toBe(200);
      expect((await signIn(base, token)).status).toBe(401);
    }));

  test("sessions lists sign-ins without control characters and revokes them", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", config);
      const { base } = await ownership.start();
      expect((await ownership.run("sessions list")).said).toBe("no browser is signed in\n");
      const cookie = cookieOf(await signIn(base, OWN));
      const { out } = await ownership.run("sessions");
      expect(out).toMatch(/^[0-9a-f]{8} {2}since .* 127\.0\.0\.1 {2}Tester/);
      const { out: json } = await ownership.run("sessions -json");
      expect([out, json].join("")).not.toContain("\u009b");
      expect(JSON.parse(json).sessions[0].userAgent).toContain("\u009b2J");
      const revoked = await ownership.run(`sessions revoke ${out.slice(0, 8)} -json`);
      expect(revoked.code).toBe(0);
      expect(JSON.parse(revoked.out)).toEqual({ status: "ok", id: out.slice(0, 8) });
      expect((await fetch(new URL("/api/status", base), { headers: { cookie } })).status).toBe(401);
      expect((await ownership.run(`sessions revoke ${out.slice(0, 8)}`)).code).toBe(1);
      await expect(ownership.run("sessions revoke")).rejects.toThrow(UsageError);
    }));

  test("unblock resets the limits of an address for dashboard and channel", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", { ...config, login_attempts_per_minute: 2 });
      await ownership.write("config.json", { channels: { pico: { enabled: true } } });
      await ownership.write(
        ".security.yml",
        "channels:\n  pico:\n    token: short-but-long-enough\n",
      );
      const { base } = await ownership.start();
      const connect = async (token: string): Promise<number> =>
        (await fetch(new URL("/pico", base), { headers: { authorization: `Bearer ${token}` } }))
          .status;
      for (const n of [1, 2, 3]) await signIn(base, `wrong-token-${n}`);
      for (let n = 0; n < 11; n += 1) await connect(`wrong-token-${n}`);
      expect([
        (await signIn(base, "wrong-token-4")).status,
        await connect("short-but-long-enough"),
      ]).toEqual([429, 429]);
      expect((await ownership.run("unblock 127.0.0.1")).code).toBe(0);
      expect([
        (await signIn(base, "wrong-token-5")).status,
        await connect("short-but-long-enough"),
      ]).toEqual([401, 200]);
      await expect(ownership.run("unblock not-an-address")).rejects.toThrow(UsageError);
    }));

  test("doctor tests a real handshake with each method", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", config);
      await ownership.write("config.json", { channels: { pico: { enabled: true } } });
      await ownership.write(
        ".security.yml",
        "channels:\n  pico:\n    token: long-enough-for-the-channel\n",
      );
      await chmod(ownership.home, 0o700);
      await ownership.start();
      const { code, json } = await ownership.run("doctor -json");
      const results = Object.fromEntries(
        json().checks.map(({ id, result }: Record<string, string>) => [id, result]),
      );
      expect([code, json().running]).toEqual([0, true]);
      expect(results).toMatchObject({
        "handshake-header": "ok",
        "handshake-subprotocol": "ok",
        "handshake-query": "ok",
        "handshake-requests": "ok",
      });
    }));
});

describe("with an invalid response from the launcher", () => {
  const head = (bytes: number): string => `HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n`;
  const answered = (answer: string, line: string): Promise<CommandResult> =>
    new Promise((done, failed) => {
      void withCommandLine(async (ownership) => {
        await mkdir(join(ownership.home, "run"), { mode: 0o700 });
        const odd = createServer((socket) => socket.once("data", () => socket.end(answer))).listen(
          join(ownership.home, "run", "launcher.sock"),
        );
        try {
          done(await ownership.run(line));
        } finally {
          odd.close();
        }
      }).catch(failed);
    });

  test.each([
    ["invalid JSON", `${head(4)}busy`],
    ["half a response", `${head(400)}{"a":`],
  ])("reports %s as an incomplete response", async (_, answer) => {
    await expect(answered(answer, "status")).rejects.toThrow(
      "response of the launcher is incomplete",
    );
  });

  test("doctor prints results without control characters", async () => {
    const check = {
      result: "failed",
      title: "a\u001b[2J",
      reason: "b\u001b]0;c\u0007\n\u202ed",
      fix: "e\u009b31m",
    };
    const body = JSON.stringify({ checks: [check] });
    const { out } = await answered(`${head(Buffer.byteLength(body))}${body}`, "doctor");
    expect(out).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    expect(out.trim().split("\n")).toHaveLength(3);
  });
});
