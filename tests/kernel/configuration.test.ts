import { expect, test } from "vitest";
import { z } from "zod";
import { createConfiguration } from "../../kernel/configuration.ts";
import { plugin, codeFrom, refusal } from "../support/sample-plugins.ts";

const nobody = (): void => undefined;
const pico = {
  section: "channels.pico",
  schema: z.strictObject({ enabled: z.boolean().default(false), limit: z.int().min(1).default(5) }),
};
const page = { section: "launcher", schema: z.strictObject({ title: z.string().default("Door") }) };
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
  createConfiguration(roster, given, nobody);

test("a section without values has its defaults, a plugin without a section has none", () => {
  const configuration = configure();
  expect(configuration.value("pico")).toEqual({ enabled: false, limit: 5 });
  expect(configuration.value("bare")).toBeUndefined();
});

test("plugins that share a section each get their own keys", () => {
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
  const error = await refusal(() => configure(given));
  expect(error.code).toBe(code);
  expect(error.message).toContain(sentence);
  expect(error.message).not.toContain("s3cret");
});

test("an asynchronous schema is refused by name", async () => {
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
    await codeFrom(() =>
      createConfiguration(
        [plugin("later", undefined, { config: later })],
        { later: { name: "b" } },
        nobody,
      ),
    ),
  ).toBe("KERNEL_BAD_CONFIG");
});

test("a change names what acts now and what waits for a restart", async () => {
  const configuration = configure();
  configuration.onConfig("page", () => undefined);
  configuration.onConfig("port", () => ({ afterRestart: ["port"] }));
  expect(await configuration.apply("launcher", { title: "New", port: 81 })).toEqual({
    now: ["title"],
    afterRestart: ["port"],
  });
  expect(configuration.value("page")).toEqual({ title: "New" });
});

test("a change nobody applies waits for a restart", async () => {
  expect(await configure().apply("channels.pico", { limit: 6 })).toEqual({
    now: [],
    afterRestart: ["limit"],
  });
});

test("only plugins whose own keys changed are asked, with the value before", async () => {
  const configuration = configure({ launcher: { title: "Old" } });
  const asked: unknown[] = [];
  configuration.onConfig("page", (next, before) => void asked.push(["page", next, before]));
  configuration.onConfig("port", () => void asked.push(["port"]));
  await configuration.apply("launcher", { title: "New" });
  expect(asked).toEqual([["page", { title: "New" }, { title: "Old" }]]);
});

test("one refusal gives everybody the old value back and keeps the refusal's own code", async () => {
  const configuration = configure();
  const values: unknown[] = [];
  configuration.onConfig("page", ({ title }) => void values.push(title));
  configuration.onConfig("port", () => {
    throw Object.assign(new Error("taken"), { name: "DoorwardError", code: "port_in_use" });
  });
  expect(await codeFrom(configuration.apply("launcher", { title: "New", port: 81 }))).toBe(
    "port_in_use",
  );
  expect(values).toEqual(["New", "Door"]);
  expect(configuration.value("page")).toEqual({ title: "Door" });
  expect(configuration.value("port")).toEqual({ port: 18_800 });
});

test("a refusal without a code becomes a sentence about the section, its words stay inside", async () => {
  const configuration = configure();
  configuration.onConfig("pico", () => Promise.reject(new Error("internal words")));
  const error = await refusal(configuration.apply("channels.pico", { limit: 6 }));
  expect(error.code).toBe("KERNEL_BAD_CONFIG");
  expect(error.message).not.toContain("internal words");
  expect(configuration.value("pico")).toEqual({ enabled: false, limit: 5 });
});

test("a way back that fails is a fault and does not stop the others' way back", async () => {
  const faults: string[] = [];
  const configuration = createConfiguration(
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
  expect(titles).toEqual(["New", "Door"]);
});

test("a field that has no effect neither acts now nor waits", async () => {
  const configuration = configure();
  configuration.onConfig("page", () => undefined);
  configuration.onConfig("port", () => ({ ignored: ["port"] }));
  expect(await configuration.apply("launcher", { title: "New", port: 81 })).toEqual({
    now: ["title"],
    afterRestart: [],
  });
});

test("an invalid change reaches nobody", async () => {
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
  expect(configuration.value("page")).toEqual({ title: "Door" });
});

test("a change to the present values asks nobody and changes nothing", async () => {
  const configuration = configure();
  configuration.onConfig("page", () => {
    throw new Error("asked");
  });
  expect(await configuration.apply("launcher", { title: "Door", port: 18_800 })).toEqual({
    now: [],
    afterRestart: [],
  });
});
