// Checks the compose files in docs/deploy: keys, references, variables and published ports.
// .ci/compose.mjs runs them.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { variablesOf } from "../../config/load/environment.ts";
import { sectionsOf } from "../../config/load/sections.ts";
import type { AnyPlugin } from "../../kernel/index.ts";
import { conversations } from "../../plugins/conversations/index.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { gateway, http } from "../../plugins/http/index.ts";
import { media } from "../../plugins/media/index.ts";
import { openai } from "../../plugins/protocols/openai/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { filesUnder, read, root } from "./source.ts";

/** Compose rejects booleans in environments, and YAML reads an unquoted `true` as one. */
const text = z.union([z.string(), z.number()]);
const duration = z.string().regex(/^(?:\d+(?:h|m|s|ms))+$/);
const port = z.string().regex(/^127\.0\.0\.1:\d+:\d+$/, "expected 127.0.0.1:PORT:PORT");
const build = z.strictObject({
  context: z.string(),
  dockerfile: z.string().optional(),
  dockerfile_inline: z.string().optional(),
});

/** The part of the Compose specification that the files use. */
const service = z.strictObject({
  build: build.optional(),
  image: z.string().optional(),
  extends: z.strictObject({ file: z.string(), service: z.string() }).optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), text).optional(),
  depends_on: z
    .union([
      z.array(z.string()),
      z.record(z.string(), z.strictObject({ condition: z.literal("service_healthy") })),
    ])
    .optional(),
  restart: z.literal("unless-stopped"),
  init: z.boolean().optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  ulimits: z.record(z.string(), z.int()).optional(),
  stop_grace_period: duration.optional(),
  ports: z.array(port).optional(),
  volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(?::ro)?$/)).optional(),
});
const file = z
  .object({
    name: z.string().optional(),
    services: z.record(z.string(), service.partial({ restart: true })),
    volumes: z.record(z.string(), z.null()).optional(),
  })
  .catchall(z.never());

const paths = filesUnder(["docs/deploy"], /compose[\w.-]*\.yml$/);
const compose = (path: string) => {
  const content = parse(read(path), { merge: true }) as Record<string, unknown>;
  const own = Object.entries(content).filter(([key]) => !key.startsWith("x-")); // extensions
  return file.parse(Object.fromEntries(own));
};

const plugins: readonly AnyPlugin[] = [
  media(),
  http(),
  gateway(),
  picoServer(),
  openai(),
  dashboard(),
  conversations({ home: "" }),
];
/** Secrets are not settings. */
const isSecret = (name: string): boolean => /^SERVICE_(?:\w+_TOKEN|STORE_SECRET)$/.test(name);

describe.each(paths)("%s", (path) => {
  const { services, volumes = {} } = compose(path);
  const folder = join(root, dirname(path));

  test("names files, services and volumes that exist", () => {
    for (const [name, { extends: base, depends_on: others = [], ...own }] of Object.entries(
      services,
    )) {
      const target = base && compose(join(dirname(path), base.file)).services[base.service];
      expect([name, base === undefined || target !== undefined]).toEqual([name, true]);
      expect(target?.image ?? target?.build ?? own.image ?? own.build).toBeDefined();
      const names = Array.isArray(others) ? others : Object.keys(others);
      expect(Object.keys(services)).toEqual(expect.arrayContaining(names));
      for (const volume of [...(own.volumes ?? []), ...(target?.volumes ?? [])]) {
        const [source = ""] = volume.split(":");
        if (source.startsWith(".")) expect(existsSync(join(folder, source))).toBe(true);
        else expect(Object.keys(volumes)).toContain(source);
      }
      if (own.build?.dockerfile !== undefined)
        expect(existsSync(join(folder, own.build.context, own.build.dockerfile))).toBe(true);
    }
  });

  test("sets variables that Doorward reads", () => {
    const known = new Set(variablesOf(sectionsOf(plugins), "service").keys());
    const used = Object.values(services).flatMap(({ environment = {} }) =>
      Object.keys(environment).filter((name) => name.startsWith("SERVICE_")),
    );
    expect(used.filter((name) => !known.has(name) && !isSecret(name))).toEqual([]);
  });

  test("hardens each container, and those of Doorward alike", () => {
    for (const { extends: base, ...own } of Object.values(services)) {
      const { image, init, read_only, tmpfs, cap_drop, security_opt, ulimits } = base
        ? compose(join(dirname(path), base.file)).services[base.service]!
        : own;
      expect([security_opt, ulimits]).toEqual([["no-new-privileges:true"], { core: 0 }]);
      if (image?.startsWith("doorward"))
        expect([init, read_only, tmpfs, cap_drop]).toEqual([true, true, ["/tmp"], ["ALL"]]);
    }
  });

  test("names a version of each image that is not built here", () => {
    for (const { image = "", build: isBuilt } of Object.values(services))
      if (image !== "" && !isBuilt) expect(image).toMatch(/:v?\d[\d.]*$/);
  });

  test("takes secrets from the environment of the command", () => {
    for (const { environment = {} } of Object.values(services))
      for (const [name, value] of Object.entries(environment))
        if (/TOKEN|SECRET|API_KEY/.test(name)) expect(value).toMatch(/^\$\{\w+(?::\?[^}]*)?\}$/);
  });
});

describe("docs/deploy", () => {
  test("contains the checked files", () => expect(paths).toHaveLength(3));

  test("restarts each container", () => {
    const all = paths.flatMap((path) => Object.values(compose(path).services));
    const missing = all.filter(({ restart, extends: base }) => !restart && !base);
    expect(missing).toEqual([]);
  });
});
