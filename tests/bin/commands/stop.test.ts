import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../../bin/commands/command.ts";
import { withCommandLine, type CommandLine } from "../../support/command-context.ts";

/** Accepts messages and answers nothing until it is asked to stop. */
const silentProgram = `
import { createInterface } from "node:readline";
const write = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
write({ type: "ready", payload: { can: ["stop"] } });
createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, id } = JSON.parse(line);
  if (type === "message.stop") write({ type: "message.ack", payload: { request_id: id, final: true } });
});
`;

async function startSilent(cli: CommandLine) {
  const file = join(cli.home, "silent.mjs");
  await cli.write("silent.mjs", silentProgram);
  await cli.write("config.json", { handler: { command: [process.execPath, file] } });
  const { kernel } = await cli.start();
  const { picoServer, channels } = kernel.services;
  const protocol = picoServer.protocol("test");
  const deliver = async (session: string): Promise<string> => {
    const message = { session, id: "1", content: "hello", media: [], at: 0, hops: 0 };
    return protocol.deliver(message, { dedupe: true }).catch(({ code }: { code: string }) => code);
  };
  return { channels, deliver };
}

describe("doorward stop", () => {
  test("stops the only running answer, and says so if none runs", () =>
    withCommandLine(async (cli) => {
      const { deliver, channels } = await startSilent(cli);
      expect(await cli.run("stop")).toMatchObject({ code: 0, said: "no answer is running\n" });
      const outcome = deliver("home");
      await expect.poll(() => channels.busySessions("pico")).toEqual(["home"]);
      expect(await cli.run("stop")).toMatchObject({ code: 0, said: "stopped 1 message in home\n" });
      expect(await outcome).toBe("stopped");
    }));

  test("asks for the session if answers of several run", () =>
    withCommandLine(async (cli) => {
      const { deliver, channels } = await startSilent(cli);
      const first = deliver("one");
      const second = deliver("t\u001bwo");
      await expect.poll(() => channels.busySessions("pico")).toHaveLength(2);
      const { code, said } = await cli.run("stop");
      expect([code, said]).toEqual([1, expect.stringMatching(/-session:\n {2}one\n {2}t.?wo\n$/)]);
      expect(said).not.toContain("\u001b");
      const { json } = await cli.run("stop -session one -json");
      expect(json()).toMatchObject({ session: "one", stopped: [{ id: "1", status: "stopping" }] });
      expect(await first).toBe("stopped");
      await expect.poll(() => channels.busySessions("pico")).toHaveLength(1);
      expect((await cli.run("stop -session other")).said).toBe("no answer is running in other\n");
      expect((await cli.run("stop")).said).toContain("stopped 1 message");
      expect(await second).toBe("stopped");
      await expect(cli.run("stop one")).rejects.toThrow(UsageError);
    }));
});
