import { spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withCommandLine } from "../../support/command-context.ts";

const OWN = "chosen-by-the-owner-0123456789-abcdefghijklm";
const config = { launcher_token: OWN };
const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe("control socket", () => {
  test("allows only the owner and is removed with its note at stop", () =>
    withCommandLine(async (ownership) => {
      const { kernel, base } = await ownership.start();
      const [folder, socket, note] = ["run", "run/launcher.sock", "run/launcher.json"].map((name) =>
        join(ownership.home, name),
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

  test("shares no paths with the dashboard", () =>
    withCommandLine(async (ownership) => {
      const { base } = await ownership.start();
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
          { socketPath: join(ownership.home, "run", "launcher.sock"), path: "/api/status" },
          (answer) => {
            answer.resume();
            done(answer.statusCode);
          },
        ).end();
      });
      expect(status).toBe(404);
    }));

  test("answers a rotation that began before the stop with the token", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", config);
      const { kernel } = await ownership.start();
      const body = '{"name":"launcher"}';
      const { request } = await import("node:http");
      const answer = new Promise<string>((done, failed) => {
        const ask = request(
          {
            socketPath: join(ownership.home, "run", "launcher.sock"),
            path: "/local/token/replace",
            method: "POST",
            headers: { "content-type": "application/json", "content-length": body.length },
          },
          (response) => void response.setEncoding("utf8").on("data", done),
        ).on("error", failed);
        ask.write(body.slice(0, 5));
        // Sent later: its response shows that the first request has arrived.
        void ownership
          .run("status")
          .then(() => {
            void kernel.stop();
            ask.end(body.slice(5));
          })
          .catch(failed);
      });
      const { token } = JSON.parse(await answer) as { token: string };
      expect(JSON.parse(await ownership.read("launcher-config.json")).launcher_token).toBe(token);
    }));

  test("refuses a folder that others can write to and leaves it unchanged", () =>
    withCommandLine(async (ownership) => {
      const folder = join(ownership.home, "run");
      await mkdir(folder);
      await chmod(folder, 0o1777);
      const { lines } = await ownership.start();
      expect(lines.some(({ text }) => /control socket cannot be opened/.test(text))).toBe(true);
      expect((await stat(folder)).mode & 0o7777).toBe(0o1777);
      expect((await ownership.run("status")).code).toBe(4);
    }));

  test("receives no request if others can write to its folder", () =>
    withCommandLine(async (ownership) => {
      const folder = join(ownership.home, "run");
      await mkdir(folder);
      await chmod(folder, 0o1777);
      let asked = 0;
      const trap = createServer(() => void (asked += 1)).listen(join(folder, "launcher.sock"));
      await once(trap, "listening");
      for (const line of ["status", "token set", "open -print"]) {
        await expect(ownership.run(line, `${OWN}-another\n`)).rejects.toThrow(
          /Other users can write/,
        );
      }
      trap.close();
      expect(asked).toBe(0);
    }));

  test("replaces the socket file of a dead process", () =>
    withCommandLine(async (ownership) => {
      await mkdir(join(ownership.home, "run"), { mode: 0o700 });
      await writeFile(join(ownership.home, "run", "launcher.sock"), "left behind");
      await ownership.start();
      expect((await ownership.run("status")).code).toBe(0);
    }));

  test("leaves the socket of another launcher and warns", () =>
    withCommandLine(async (ownership) => {
      await mkdir(join(ownership.home, "run"), { mode: 0o700 });
      const other = createServer().listen(join(ownership.home, "run", "launcher.sock"));
      try {
        const { lines, kernel } = await ownership.start();
        expect(lines.some(({ text }) => /another launcher uses this home/.test(text))).toBe(true);
        await kernel.stop();
        expect(other.listening).toBe(true);
        expect((await stat(join(ownership.home, "run", "launcher.sock"))).isSocket()).toBe(true);
      } finally {
        other.close();
      }
    }));

  test.runIf(process.platform === "linux")(
    "leaves the socket of a launcher whose backlog is full",
    () =>
      withCommandLine(async (ownership) => {
        await mkdir(join(ownership.home, "run"), { mode: 0o700 });
        const path = join(ownership.home, "run", "launcher.sock");
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
          const { lines } = await ownership.start();
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

  test("passes from a stopping launcher to the next one", () =>
    withCommandLine(async (ownership) => {
      const first = await ownership.start();
      const path = join(ownership.home, "run", "launcher.sock");
      // An incomplete request: the stop waits briefly for the rest.
      const asking = createConnection(path);
      await once(asking, "connect");
      asking.write("POST /local/unblock HTTP/1.1\r\nhost: doorward\r\ncontent-length: 10\r\n\r\n{");
      expect((await ownership.run("status")).code).toBe(0); // sent later: the first request has arrived
      const stopped = first.kernel.stop();
      await expect.poll(() => stat(path).catch(() => "gone")).toBe("gone");
      const { base } = await ownership.start();
      asking.destroy();
      await stopped;
      expect(JSON.parse(await ownership.read("run/launcher.json"))).toMatchObject({
        addresses: [base.href],
      });
      expect((await ownership.run("status")).code).toBe(0);
    }));
});
