import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Plugin } from "../../kernel/index.ts";
import { withKernel } from "../../kernel/testing.ts";
import { codeFrom, plugin } from "../support/sample-plugins.ts";

type Facts = { "clock:struck": { hour: number } };

describe("Scope", () => {
  test("delivers events of other plugins and emits its own", async () => {
    const heard: number[] = [];
    let strike = (_hour: number): void => undefined;
    const clock: Plugin<{ emits: Facts }> = {
      name: "clock",
      api: 1,
      start({ emit }) {
        strike = (hour) => emit("clock:struck", { hour });
      },
    };
    const ear: Plugin<{ listens: Facts }> = {
      name: "ear",
      api: 1,
      start({ on }) {
        on("clock:struck", ({ hour }) => void heard.push(hour));
      },
    };
    await withKernel([clock, ear], ({ kernel }) => {
      kernel.on("clock:struck", ({ hour }) => void heard.push(-hour));
      strike(1);
      strike(2);
    });
    strike(3);
    expect(heard).toEqual([1, -1, 2, -2, -3]);
  });

  test("rejects an event named after another plugin, also without listeners", async () => {
    const codes: string[] = [];
    await withKernel(
      [
        plugin("mole", async ({ emit }) => {
          const loose = emit as (type: string, fact: object) => void;
          for (const type of ["clock:struck", "kernel:fault", "molehill:made", "mole"]) {
            codes.push(await codeFrom(() => loose(type, {})));
          }
          loose("mole:dug", {});
        }),
      ],
      () => undefined,
    );
    expect(codes).toEqual(Array(4).fill("KERNEL_FOREIGN_FACT"));
  });

  test("rejects lifecycle commands of plugins that are not drivers", async () => {
    const codes: string[] = [];
    await withKernel(
      [
        plugin(
          "driver",
          ({ lifecycle }) => {
            (lifecycle as unknown as { send(c: string): boolean }).send("accept-credentials");
          },
          { drives: true },
        ),
        plugin("rider", async ({ lifecycle }) => {
          codes.push(
            await codeFrom(() =>
              (lifecycle as unknown as { send(c: string): boolean }).send("begin-rotation"),
            ),
          );
        }),
      ],
      ({ kernel }) => expect(kernel.state()).toBe("running"),
    );
    expect(codes).toEqual(["KERNEL_NOT_DRIVER"]);
  });

  test("provides the configuration only to a plugin that declares it", async () => {
    const seen: unknown[] = [];
    await withKernel(
      [
        plugin("plain", ({ configuration }) => void seen.push(configuration)),
        plugin("settings", ({ configuration }) => void seen.push(typeof configuration), {
          configures: true,
        }),
      ],
      () => undefined,
    );
    expect(seen).toEqual([undefined, "object"]);
  });

  test("runs a timer once, and never after its release or stop", async () => {
    const rang: string[] = [];
    let late = (): void => undefined;
    const bell = plugin("bell", ({ after }) => {
      after(10, () => void rang.push("ten"));
      after(20, () => void rang.push("never"))();
      after(50, () => void rang.push("too late"));
      late = () => void after(1, () => void rang.push("after the stop"));
    });
    let increment = (_ms: number): void => undefined;
    await withKernel([bell], ({ clock }) => {
      increment = (ms) => clock.increment(ms);
      clock.increment(9);
      expect(rang).toEqual([]);
      clock.increment(30);
    });
    late();
    increment(1_000);
    expect(rang).toEqual(["ten"]);
  });

  test("reports a throwing timer without the text of unknown errors", async () => {
    const bell = plugin(
      "bell",
      ({ after }) =>
        void after(1, () => {
          throw new Error("secret words");
        }),
    );
    await withKernel([bell], ({ kernel, clock, lines }) => {
      const faults: object[] = [];
      kernel.on("kernel:fault", (fault) => void faults.push(fault));
      clock.increment(1);
      expect(faults).toEqual([
        { plugin: "bell", during: "timer", code: "internal", message: "internal error" },
      ]);
      expect(lines.filter(({ level }) => level === "error")).toHaveLength(1);
    });
  });

  test("reports faults with plugin, event, code and message", async () => {
    const known = Object.assign(new Error("The disk is full."), {
      name: "DoorwardError",
      code: "store_unavailable",
    });
    const sink = plugin("sink", ({ on, emit }) => {
      (on as (type: string, run: () => void) => void)("sink:filled", () => {
        throw known;
      });
      (emit as (type: string, fact: object) => void)("sink:filled", {});
    });
    const faults: object[] = [];
    const host = plugin("witness", ({ on }) =>
      on("kernel:fault", (fault) => void faults.push(fault)),
    );
    await withKernel([host, sink], () => undefined);
    expect(faults).toEqual([
      {
        plugin: "sink",
        during: "sink:filled",
        code: "store_unavailable",
        message: "The disk is full.",
      },
    ]);
  });

  test("logs a throwing fault listener without calling it again", async () => {
    const bell = plugin(
      "bell",
      ({ after }) =>
        void after(1, () => {
          throw new Error("one");
        }),
    );
    await withKernel([bell], ({ kernel, clock, lines }) => {
      kernel.on("kernel:fault", () => {
        throw new Error("two");
      });
      clock.increment(1);
      expect(lines.filter(({ level }) => level === "error").map(({ during }) => during)).toEqual([
        "timer",
        "kernel:fault",
      ]);
    });
  });

  test("provides only the services that a plugin names", async () => {
    const seen: object[] = [];
    await withKernel(
      [
        plugin("shop", () => ({ bread: "bread", milk: "milk" })),
        plugin("guest", ({ needs, uses }) => void seen.push({ ...needs }, { ...uses }), {
          needs: { bread: true },
          uses: { tea: true },
        }),
      ],
      () => undefined,
    );
    expect(seen).toEqual([{ bread: "bread" }, { tea: undefined }]);
  });

  test("adds the plugin name to log lines", async () => {
    await withKernel([plugin("shop", ({ log }) => log.info({ door: 1 }, "open"))], ({ lines }) => {
      expect(lines).toContainEqual({ level: "info", plugin: "shop", door: 1, text: "open" });
    });
  });

  test("returns the current configuration at any time", async () => {
    const read: unknown[] = [];
    const config = {
      section: "shop",
      schema: z.strictObject({ open: z.boolean().default(false) }),
    };
    let apply = async (_raw: object): Promise<unknown> => undefined;
    await withKernel(
      [
        plugin(
          "shop",
          ({ config: current, onConfig }) => {
            read.push(current());
            onConfig(() => void read.push(current()));
          },
          { config },
        ),
        plugin(
          "settings",
          ({ configuration }) => {
            const own = configuration as unknown as {
              apply(section: string, raw: object): Promise<unknown>;
            };
            apply = (raw) => own.apply("shop", raw);
          },
          { configures: true },
        ),
      ],
      async () => {
        await apply({ open: true });
      },
    );
    expect(read).toEqual([{ open: false }, { open: true }]);
  });
});
