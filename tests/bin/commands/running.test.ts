import { spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../../bin/commands/command.ts";
import { withDesk, type Ran } from "../../support/command-context.ts";

const OWN = "chosen-by-the-owner-0123456789-abcdefghijklm";
const config = { launcher_token: OWN };
const cookieOf = (answer: Response): string => answer.headers.getSetCookie()[0]!.split(";")[0]!;
const signIn = (base: URL, token: string): Promise<Response> =>
  fetch(new URL("/login", base), {
    method: "POST",
    headers: { "content-type": "application/json", "user-agent": "Tester\u009b2J/1" },
    body: JSON.stringify({ token }),
  });
const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe("without a running launcher", () => {
  test.each(["open -print", "sessions list", "sessions revoke 01234567", "unblock", "status"])(
    "%j says so, with exit code 4",
    (line) =>
      withDesk(async (desk) => {
        expect(await desk.run(line)).toMatchObject({
          code: 4,
          out: "",
          said: expect.stringContaining("no launcher"),
        });
        expect((await desk.run(`${line} -json`)).json()).toMatchObject({ error: "not_running" });
      }),
  );

  test("a home with too long a path for a socket is told apart", () =>
    withDesk(
      async (desk) => {
        expect((await desk.run("status")).said).toContain(
          "cannot be reached: the path of its control socket is too long",
        );
        expect((await desk.run("status -json")).json()).toMatchObject({ error: "no_socket" });
      },
      {},
      "a-long-name-".repeat(9),
    ));
});

describe("with a running launcher", () => {
  test("a mistyped command starts no launcher", () =>
    withDesk(async (desk) => {
      await expect(desk.run("stauts")).rejects.toThrow(
        '"stauts" is not a command. Did you mean "status"?',
      );
      await expect(desk.run("open sesame")).rejects.toThrow(UsageError);
    }));

  test("status says what it does", () =>
    withDesk(async (desk) => {
      await desk.write("launcher-config.json", config);
      const { base } = await desk.start();
      const { code, out } = await desk.run("status");
      expect([code, out]).toEqual([0, expect.stringMatching(/^State +running$/m)]);
      expect((await desk.run("status -json")).json()).toMatchObject({
        running: true,
        state: "running",
        version: "0.0.0",
        addresses: [base.href],
        sessions: 0,
      });
      await desk.write("config.json", "{");
      await expect
        .poll(async () => (await desk.run("status")).out)
        .toMatch(/^Files +An edit of the settings was rejected: \S+config\.json, line 1/m);
    }));

  test("open -print prints a link that signs in once", () =>
    withDesk(async (desk) => {
      await desk.write("launcher-config.json", config);
      const { base } = await desk.start();
      const { code, out } = await desk.run("open -print");
      expect(code).toBe(0);
      const link = new URL(out.trim());
      expect([link.origin, link.pathname]).toEqual([base.origin, "/login"]);
      const token = link.searchParams.get("link")!;
      expect((await signIn(base, token)).status).toBe(200);
      expect((await signIn(base, token)).status).toBe(401);
    }));

  test("sessions are listed without control characters, and revoked", () =>
    withDesk(async (desk) => {
      await desk.write("launcher-config.json", config);
      const { base } = await desk.start();
      expect((await desk.run("sessions list")).said).toBe("no browser is signed in\n");
      const cookie = cookieOf(await signIn(base, OWN));
      const { out } = await desk.run("sessions");
      expect(out).toMatch(/^[0-9a-f]{8} {2}since .* 127\.0\.0\.1 {2}Tester/);
      const { out: json } = await desk.run("sessions -json");
      expect([out, json].join("")).not.toContain("\u009b");
      expect(JSON.parse(json).sessions[0].userAgent).toContain("\u009b2J");
      expect((await desk.run(`sessions revoke ${out.slice(0, 8)}`)).code).toBe(0);
      expect((await fetch(new URL("/api/status", base), { headers: { cookie } })).status).toBe(401);
      expect((await desk.run(`sessions revoke ${out.slice(0, 8)}`)).code).toBe(1);
      await expect(desk.run("sessions revoke")).rejects.toThrow(UsageError);
    }));

  test("unblock lets an address try again, in the dashboard and in the channel", () =>
    withDesk(async (desk) => {
      await desk.write("launcher-config.json", { ...config, login_attempts_per_minute: 2 });
      await desk.write("config.json", { channels: { pico: { enabled: true } } });
      await desk.write(".security.yml", "channels:\n  pico:\n    token: short-but-long-enough\n");
      const { base } = await desk.start();
      const knock = async (token: string): Promise<number> =>
        (await fetch(new URL("/pico", base), { headers: { authorization: `Bearer ${token}` } }))
          .status;
      for (const n of [1, 2, 3]) await signIn(base, `wrong-token-${n}`);
      for (let n = 0; n < 11; n += 1) await knock(`wrong-token-${n}`);
      expect([
        (await signIn(base, "wrong-token-4")).status,
        await knock("short-but-long-enough"),
      ]).toEqual([429, 429]);
      expect((await desk.run("unblock 127.0.0.1")).code).toBe(0);
      expect([
        (await signIn(base, "wrong-token-5")).status,
        await knock("short-but-long-enough"),
      ]).toEqual([401, 200]);
      await expect(desk.run("unblock somebody")).rejects.toThrow(UsageError);
    }));

  test("doctor asks it: real handshakes by each method", () =>
    withDesk(async (desk) => {
      await desk.write("launcher-config.json", config);
      await desk.write("config.json", { channels: { pico: { enabled: true } } });
      await desk.write(
        ".security.yml",
        "channels:\n  pico:\n    token: long-enough-for-the-channel\n",
      );
      await chmod(desk.home, 0o700);
      await desk.start();
      const { code, json } = await desk.run("doctor -json");
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

describe("a launcher that answers oddly", () => {
  const head = (bytes: number): string => `HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n`;
  const answered = (answer: string, line: string): Promise<Ran> =>
    new Promise((done, failed) => {
      void withDesk(async (desk) => {
        await mkdir(join(desk.home, "run"), { mode: 0o700 });
        const odd = createServer((socket) => socket.once("data", () => socket.end(answer))).listen(
          join(desk.home, "run", "launcher.sock"),
        );
        try {
          done(await desk.run(line));
        } finally {
          odd.close();
        }
      }).catch(failed);
    });

  test.each([
    ["no JSON", `${head(4)}busy`],
    ["half an answer", `${head(400)}{"a":`],
  ])("%s is a failure with a sentence", async (_, answer) => {
    await expect(answered(answer, "status")).rejects.toThrow(
      "response of the launcher is incomplete",
    );
  });

  test("what others say in the doctor's reasons does not reach the terminal's controls", async () => {
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

describe("the socket of the owner", () => {
  test("is for the owner alone, is noted beside it, and is gone after the stop", () =>
    withDesk(async (desk) => {
      const { kernel, base } = await desk.start();
      const [folder, socket, note] = ["run", "run/launcher.sock", "run/launcher.json"].map((name) =>
        join(desk.home, name),
      );
      expect([await mode(folder!), await mode(socket!), await mode(note!)]).toEqual([
        0o700, 0o600, 0o600,
      ]);
      expect(JSON.parse(await readFile(note!, "utf8"))).toEqual({
        pid: process.pid,
        version: "0.0.0",
        addresses: [base.href],
      });
      await kernel.stop();
      await expect(stat(socket!)).rejects.toThrow("ENOENT");
      await expect(stat(note!)).rejects.toThrow("ENOENT");
    }));

  test("serves nothing of the dashboard, and the dashboard's address nothing of it", () =>
    withDesk(async (desk) => {
      const { base } = await desk.start();
      for (const path of ["/local/status", "/local", "/local/token/show"]) {
        const answer = await fetch(new URL(path, base), {
          method: "POST",
          headers: { authorization: `Bearer ${OWN}` },
        });
        expect(answer.status).toBe(404);
      }
      expect(
        (await fetch(new URL("/local/status", base), { headers: { accept: "text/html" } })).status,
      ).toBe(404);
      const { request } = await import("node:http");
      const status = await new Promise((done) => {
        request(
          { socketPath: join(desk.home, "run", "launcher.sock"), path: "/api/status" },
          (answer) => {
            answer.resume();
            done(answer.statusCode);
          },
        ).end();
      });
      expect(status).toBe(404);
    }));

  test("tells what it was asked before the stop: a new token is known to who made it", () =>
    withDesk(async (desk) => {
      await desk.write("launcher-config.json", config);
      const { kernel } = await desk.start();
      const body = '{"name":"launcher"}';
      const { request } = await import("node:http");
      const answer = new Promise<string>((done, failed) => {
        const ask = request(
          {
            socketPath: join(desk.home, "run", "launcher.sock"),
            path: "/local/token/replace",
            method: "POST",
            headers: { "content-type": "application/json", "content-length": body.length },
          },
          (told) => void told.setEncoding("utf8").on("data", done),
        ).on("error", failed);
        ask.write(body.slice(0, 5));
        // Asked later: by its answer the first one is there.
        void desk
          .run("status")
          .then(() => {
            void kernel.stop();
            ask.end(body.slice(5));
          })
          .catch(failed);
      });
      const { token } = JSON.parse(await answer) as { token: string };
      expect(JSON.parse(await desk.read("launcher-config.json")).launcher_token).toBe(token);
    }));

  test("is not put into a folder of others, which stays as it is", () =>
    withDesk(async (desk) => {
      const folder = join(desk.home, "run");
      await mkdir(folder);
      await chmod(folder, 0o1777);
      const { lines } = await desk.start();
      expect(lines.some(({ text }) => /control socket cannot be opened/.test(text))).toBe(true);
      expect((await stat(folder)).mode & 0o7777).toBe(0o1777);
      expect((await desk.run("status")).code).toBe(4);
    }));

  test("that somebody else may have put into a folder of others is told nothing", () =>
    withDesk(async (desk) => {
      const folder = join(desk.home, "run");
      await mkdir(folder);
      await chmod(folder, 0o1777);
      let asked = 0;
      const trap = createServer(() => void (asked += 1)).listen(join(folder, "launcher.sock"));
      await once(trap, "listening");
      for (const line of ["status", "token set", "open -print"]) {
        await expect(desk.run(line, `${OWN}-another\n`)).rejects.toThrow(/Other users can write/);
      }
      trap.close();
      expect(asked).toBe(0);
    }));

  test("of a dead process is taken over", () =>
    withDesk(async (desk) => {
      await mkdir(join(desk.home, "run"), { mode: 0o700 });
      await writeFile(join(desk.home, "run", "launcher.sock"), "left behind");
      await desk.start();
      expect((await desk.run("status")).code).toBe(0);
    }));

  test("of another launcher is left alone, with a warning", () =>
    withDesk(async (desk) => {
      await mkdir(join(desk.home, "run"), { mode: 0o700 });
      const other = createServer().listen(join(desk.home, "run", "launcher.sock"));
      try {
        const { lines, kernel } = await desk.start();
        expect(lines.some(({ text }) => /another launcher uses this home/.test(text))).toBe(true);
        await kernel.stop();
        expect(other.listening).toBe(true);
        expect((await stat(join(desk.home, "run", "launcher.sock"))).isSocket()).toBe(true);
      } finally {
        other.close();
      }
    }));

  test.runIf(process.platform === "linux")(
    "of a launcher that is behind with its connections is left alone",
    () =>
      withDesk(async (desk) => {
        await mkdir(join(desk.home, "run"), { mode: 0o700 });
        const path = join(desk.home, "run", "launcher.sock");
        const waiting: Socket[] = [];
        const busy = spawn(
          process.execPath,
          [
            "-e",
            `
        const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        require("node:net").createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
          require("node:fs").writeSync(1, "listening");
          wait();
        });`,
            path,
          ],
          { stdio: ["ignore", "pipe", "inherit"] },
        );
        try {
          await once(busy.stdout, "data");
          const inode = (await stat(path)).ino;
          const isTaken = (): Promise<boolean> =>
            new Promise((done) => {
              const socket = createConnection(path)
                .on("connect", () => done(true))
                .on("error", () => done(false));
              waiting.push(socket);
            });
          while (await isTaken()) expect(waiting.length).toBeLessThan(100);
          const { lines } = await desk.start();
          expect(
            lines.filter(({ text }) => /another launcher uses this home/.test(text)),
          ).toHaveLength(1);
          expect((await stat(path)).ino).toBe(inode);
        } finally {
          for (const socket of waiting) socket.destroy();
          busy.kill("SIGKILL");
        }
      }),
  );

  test("of a launcher that stops may be had by the next one, whose note stays", () =>
    withDesk(async (desk) => {
      const first = await desk.start();
      const path = join(desk.home, "run", "launcher.sock");
      // Half a question: the stop waits a moment for the rest of it.
      const asking = createConnection(path);
      await once(asking, "connect");
      asking.write("POST /local/unblock HTTP/1.1\r\nhost: doorward\r\ncontent-length: 10\r\n\r\n{");
      expect((await desk.run("status")).code).toBe(0); // asked later: that one was heard
      const stopped = first.kernel.stop();
      await expect.poll(() => stat(path).catch(() => "gone")).toBe("gone");
      const { base } = await desk.start();
      asking.destroy();
      await stopped;
      expect(JSON.parse(await desk.read("run/launcher.json"))).toMatchObject({
        addresses: [base.href],
      });
      expect((await desk.run("status")).code).toBe(0);
    }));
});
