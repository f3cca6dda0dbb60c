// The law of records: an acknowledged `put` is there, after restarts and kills too.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createKernel } from "../../kernel/index.ts";
import { records } from "../../plugins/records/index.ts";
import { newHome } from "../support/records.ts";
import { runs } from "../support/runs.ts";

const key = fc.constantFrom("a", "b", "c");
const command = fc.oneof(
  fc.record({ type: fc.constant("put" as const), key, value: fc.jsonValue() }),
  fc.record({ type: fc.constant("guess" as const), key, version: fc.nat(6) }),
  fc.record({ type: fc.constant("remove" as const), key }),
  fc.record({ type: fc.constant("restart" as const) }),
);

async function open(home: string) {
  const kernel = createKernel([records({ home, lockWaitMs: 0 })]);
  await kernel.start();
  return { kernel, own: kernel.services.records("law") };
}

describe("records", () => {
  test("have each acknowledged value, in each order of calls and restarts", () =>
    fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
        const home = await newHome();
        const known = new Map<string, { value: unknown; version: number }>();
        let last = 0;
        let { kernel, own } = await open(home);
        const stored = (name: string, value: unknown, version: number): void => {
          expect(version).toBeGreaterThan(last);
          last = version;
          known.set(name, { value: JSON.parse(JSON.stringify(value)) as unknown, version });
        };
        for (const step of commands) {
          if (step.type === "restart") {
            await kernel.stop();
            ({ kernel, own } = await open(home));
          } else if (step.type === "put")
            stored(step.key, step.value, await own.put(step.key, step.value));
          else if (step.type === "remove") {
            await own.remove(step.key);
            known.delete(step.key);
          } else if (step.type === "guess") {
            const isRight = step.version === (known.get(step.key)?.version ?? 0);
            const outcome = await own
              .put(step.key, "guess", { version: step.version })
              .catch((error: { code: string }) => error.code);
            if (isRight) stored(step.key, "guess", Number(outcome));
            else expect(outcome).toBe("record_conflict");
          }
          const list = await own.list();
          expect(list.map(({ key: name, value, version }) => [name, { value, version }])).toEqual(
            [...known].toSorted(([one], [other]) => (one < other ? -1 : 1)),
          );
        }
        await kernel.stop();
      }),
      { numRuns: runs(60) },
    ));

  test("survive a kill as soon as they are acknowledged", { timeout: 60_000 }, async () => {
    const home = await newHome();
    const index = fileURLToPath(new URL("../../dist/", import.meta.url));
    const script = `
      const { createKernel } = await import(${JSON.stringify(`${index}kernel/index.js`)});
      const { records } = await import(${JSON.stringify(`${index}plugins/records/index.js`)});
      const kernel = createKernel([records({ home: ${JSON.stringify(home)} })]);
      await kernel.start();
      const law = kernel.services.records("law");
      const worker = async (name) => {
        for (let n = ((await law.get(name))?.value ?? 0) + 1; ; n++) {
          await law.put(name, n);
          process.stdout.write(name + " " + n + "\\n");
        }
      };
      await Promise.all(["a", "b", "c"].map(worker));`;
    const acknowledged = new Map<string, number>();
    for (let round = 0; round < runs(15); round++) {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(child, "exit");
      let left = 5 + 7 * round;
      for await (const line of createInterface({ input: child.stdout })) {
        const [name = "", n] = line.split(" ");
        acknowledged.set(name, Number(n));
        left -= 1;
        if (left === 0) child.kill("SIGKILL");
      }
      await exited;
      const { kernel, own } = await open(home);
      for (const [name, n] of acknowledged) {
        const value = (await own.get(name))!.value as number;
        expect(value).toBeGreaterThanOrEqual(n);
        // The next number was on its way.
        expect(value).toBeLessThanOrEqual(n + 1);
      }
      await kernel.stop();
    }
    expect(acknowledged.size).toBe(3);
  });
});
