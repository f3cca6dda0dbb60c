import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ConfigurationStore } from "../../kernel/configuration.ts";
import { plugin, codeFrom, rejection } from "../support/sample-plugins.ts";

const nobody = (): void => undefined;
const pico = {
  section: "channels.pico",
  schema: z.strictObject({ enabled: z.boolean().default(false), limit: z.int().min(1).default(5) }),
};
const page = {
  section: "launcher",
  schema: z.strictObject({ title: z.string().default("Sample") }),
};
const port = {
  section: "launcher",
  schema: z.strictObject({ port: z.int().min(0).max(65_535).default(18_800) }),
};

const roster = [
  plugin("page", undefined, { config: page }),
  plugin("port", undefined, { config: port }),
  plugin("pico", undefined, { config: pico }),
  plugin("bare"),
];
const configure = (given: Record<string, unknown> = {}) =>
  new ConfigurationStore(roster, given, nobody);

describe("Configuration", () => {
  test("uses defaults for a missing section, and undefined without a section", () => {
    const configuration = configure();
    expect(configuration.value("pico")).toEqual({ enabled: false, limit: 5 });
    expect(configuration.value("bare")).toBeUndefined();
  });

  test("gives plugins that share a section their own keys", () => {
    const configuration = configure({ launcher: { title: "Mine", port: 80 } });
    expect(configuration.value("page")).toEqual({ title: "Mine" });
    expect(configuration.value("port")).toEqual({ port: 80 });
    expect(configuration.describe().find(({ section }) => section === "launcher")).toMatchObject({
      value: { title: "Mine", port: 80 },
      schema: { properties: { title: { type: "string" }, port: { type: "integer" } } },
    });
  });

  test.each([
    [{ "channels.pico": { limit: 0 } }, "KERNEL_BAD_CONFIG", '"channels.pico.limit" is not valid'],
    [
      { "channels.pico": { enabled: "yes" } },
      "KERNEL_BAD_CONFIG",
      '"channels.pico.enabled" is not valid',
    ],
    [{ "channels.pico": [] }, "KERNEL_BAD_CONFIG", "expected an object with settings"],
    [
      { "channels.pico": { limits: 1 } },
      "KERNEL_UNKNOWN_KEY",
      '"channels.pico.limits" is not a setting. Did you mean "limit"?',
    ],
    [{ "channels.picco": {} }, "KERNEL_UNKNOWN_SECTION", 'Did you mean "channels.pico"?'],
    [
      { "channels.pico": { token: "s3cret-s3cret-s3cret" } },
      "KERNEL_TOKEN_IN_CONFIG",
      '"channels.pico.token" holds a token',
    ],
  ])("%j is refused as %s", async (given, code, sentence) => {
    const error = await rejection(() => configure(given));
    expect(error.code).toBe(code);
    expect(error.message).toContain(sentence);
    expect(error.message).not.toContain("s3cret");
  });

  test("rejects an asynchronous schema by name", async () => {
    const later = {
      section: "later",
      schema: z.strictObject({
        name: z
          .string()
          .default("a")
          .refine(async () => true),
      }),
    };
    expect(
      await codeFrom(
        () =>
          new ConfigurationStore(
            [plugin("later", undefined, { config: later })],
            { later: { name: "b" } },
            nobody,
          ),
      ),
    ).toBe("KERNEL_BAD_CONFIG");
  });

  test("reports which fields take effect now and after a restart", async () => {
    const configuration = configure();
    configuration.onConfig("page", () => undefined);
    configuration.onConfig("port", () => ({ afterRestart: ["port"] }));
    expect(await configuration.apply("launcher", { title: "New", port: 81 })).toEqual({
      now: ["title"],
      afterRestart: ["port"],
    });
    expect(configuration.value("page")).toEqual({ title: "New" });
  });

  test("postpones a change without listeners to the restart", async () => {
    expect(await configure().apply("channels.pico", { limit: 6 })).toEqual({
      now: [],
      afterRestart: ["limit"],
    });
  });

  test("calls only plugins whose own keys changed, with the previous value", async () => {
    const configuration = configure({ launcher: { title: "Old" } });
    const asked: unknown[] = [];
    configuration.onConfig("page", (next, before) => void asked.push(["page", next, before]));
    configuration.onConfig("port", () => void asked.push(["port"]));
    await configuration.apply("launcher", { title: "New" });
    expect(asked).toEqual([["page", { title: "New" }, { title: "Old" }]]);
  });

  test("restores all plugins after a rejection, and keeps its code", async () => {
    const configuration = configure();
    const values: unknown[] = [];
    configuration.onConfig("page", ({ title }) => void values.push(title));
    configuration.onConfig("port", () => {
      throw Object.assign(new Error("taken"), { name: "DoorwardError", code: "port_in_use" });
    });
    expect(await codeFrom(configuration.apply("launcher", { title: "New", port: 81 }))).toBe(
      "port_in_use",
    );
    expect(values).toEqual(["New", "Sample"]);
    expect(configuration.value("page")).toEqual({ title: "Sample" });
    expect(configuration.value("port")).toEqual({ port: 18_800 });
  });

  test("hides the text of a rejection that has no code", async () => {
    const configuration = configure();
    configuration.onConfig("pico", () => Promise.reject(new Error("internal words")));
    const error = await rejection(configuration.apply("channels.pico", { limit: 6 }));
    expect(error.code).toBe("KERNEL_BAD_CONFIG");
    expect(error.message).not.toContain("internal words");
    expect(configuration.value("pico")).toEqual({ enabled: false, limit: 5 });
  });

  test("reports a failed restore as a fault and restores the others", async () => {
    const faults: string[] = [];
    const configuration = new ConfigurationStore(
      roster,
      {},
      (name, during) => void faults.push(`${name} ${during}`),
    );
    const titles: unknown[] = [];
    let calls = 0;
    configuration.onConfig("page", ({ title }) => void titles.push(title));
    configuration.onConfig("page", () => {
      if (++calls === 2) throw new Error("cannot go back");
    });
    configuration.onConfig("port", () => {
      throw new Error("no");
    });
    await codeFrom(configuration.apply("launcher", { title: "New", port: 81 }));
    expect(faults).toEqual(["page onConfig"]);
    expect(titles).toEqual(["New", "Sample"]);
  });

  test("reports a field without effect neither as now nor after restart", async () => {
    const configuration = configure();
    configuration.onConfig("page", () => undefined);
    configuration.onConfig("port", () => ({ ignored: ["port"] }));
    expect(await configuration.apply("launcher", { title: "New", port: 81 })).toEqual({
      now: ["title"],
      afterRestart: [],
    });
  });

  test("calls no plugin for an invalid change", async () => {
    const configuration = configure();
    let asked = 0;
    configuration.onConfig("page", () => {
      asked += 1;
    });
    expect(await codeFrom(configuration.apply("launcher", { title: "New", port: -1 }))).toBe(
      "KERNEL_BAD_CONFIG",
    );
    expect(await codeFrom(configuration.apply("launcher", null))).toBe("KERNEL_BAD_CONFIG");
    expect(await codeFrom(configuration.apply("nowhere", {}))).toBe("KERNEL_UNKNOWN_SECTION");
    expect(asked).toBe(0);
    expect(configuration.value("page")).toEqual({ title: "Sample" });
  });

  test("calls no plugin and changes nothing for equal values", async () => {
    const configuration = configure();
    configuration.onConfig("page", () => {
      throw new Error("asked");
    });
    expect(await configuration.apply("launcher", { title: "Sample", port: 18_800 })).toEqual({
      now: [],
      afterRestart: [],
    });
  });
});
