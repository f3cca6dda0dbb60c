import { describe, expect, test } from "vitest";
import { codeOnly, importsOf, sources, type Import, type Source } from "./source.ts";

/* Who may import what. A rule answers with the reason for refusing an import, or nothing. Type-only imports load
 * nothing: between plugins they are the rule, two plugins may hear each other's facts, and for cycles only value
 * imports count. */

type Rule = (file: string, wanted: Import) => string | undefined;

const isBuiltin = ({ specifier }: Import): boolean => specifier.startsWith("node:");
const packageOf = (specifier: string): string => /^(@[^/]+\/)?[^/]+/.exec(specifier)![0];
const pluginOf = (path: string): string | undefined => /^plugins\/([^/]+)\//.exec(path)?.[1];
const within = (folder: string, { path }: Import): boolean =>
  path?.startsWith(`${folder}/`) === true;
const isKernelDoor = ({ path }: Import): boolean => path === "kernel/index.ts";

/** Package -> the files that may import it. */
const packages: Readonly<Record<string, RegExp>> = {
  xstate: /^(kernel\/(lifecycle|testing)|plugins\/pico-client\/machine)\.ts$/,
  mitt: /^kernel\/bus\.ts$/,
  fastify: /^plugins\/dashboard\//,
  "@fastify/cookie": /^plugins\/dashboard\//,
  "prom-client": /^plugins\/dashboard\/metrics\/registry\.ts$/,
  ws: /^plugins\/((pico-(server|client)|testing)\/|pico-link\/client\.ts$)/,
  zod: /^plugins\/[^/]+\/(config|bodies)\.ts$/,
  "import-meta-resolve": /^config\/plugins\//,
  "jsonc-parser": /^config\/files\//,
  yaml: /^config\/files\//,
  pino: /^bin\//,
  "pino-pretty": /^bin\//,
};
/** No server, no file system, no socket in the kernel; nothing of Node in what browsers load. */
const withoutBuiltins = /^(kernel|plugins\/pico-(wire|link)|plugins\/dashboard\/browser)\//;

const packageRule: Rule = (file, wanted) => {
  if (wanted.path !== undefined) return undefined;
  if (isBuiltin(wanted))
    return withoutBuiltins.test(file) ? "this folder uses nothing of Node" : undefined;
  const allowed = packages[packageOf(wanted.specifier)];
  if (!allowed) return "this package is in no rule";
  return allowed.test(file) ? undefined : `only ${allowed.source} may import this package`;
};

/** By name, a bundle would hold all of the package: its words in fifty languages among the rest. */
const wholeRule: Rule = (_, { specifier, names, typeOnly }) =>
  specifier === "zod" && names.length > 0 && !typeOnly
    ? 'this package is imported as "* as z"'
    : undefined;

const kernelRule: Rule = (_, wanted) =>
  within("kernel", wanted) ? undefined : "the kernel knows nobody";

/** Libraries among the plugins' folders -> who may load them. */
const libraries: Readonly<Record<string, ReadonlySet<string>>> = {
  "pico-wire": new Set(["pico-server", "pico-client", "pico-link"]),
  "pico-link": new Set(["pico-client"]),
};
const filesUsers = new Set(["token-store", "settings", "pico-client", "dashboard"]);
/** The chat is a client like any other. */
const isForChat = ({ path, typeOnly }: Import): boolean =>
  path === "plugins/pico-link/page.ts" || (typeOnly && path === "plugins/pico-wire/index.ts");
const pluginRule: Rule = (file, wanted) => {
  const own = pluginOf(file)!;
  if (
    file.startsWith("plugins/dashboard/browser/") &&
    !within("plugins/dashboard/browser", wanted)
  ) {
    if (isForChat(wanted)) return undefined;
    return wanted.typeOnly && within("plugins/dashboard", wanted)
      ? undefined
      : "browser modules load browser modules";
  }
  if (within(`plugins/${own}`, wanted)) return undefined;
  if (own === "pico-wire") return "the codec has no dependency";
  if (own === "pico-link" && pluginOf(wanted.path ?? "") !== "pico-wire")
    return "the link stands on the codec alone";
  if (isKernelDoor(wanted)) return undefined;
  if (own === "testing" && wanted.path === "kernel/testing.ts") return undefined;
  if (wanted.path === "config/files/index.ts")
    return filesUsers.has(own) ? undefined : "this plugin touches no file";
  const other = pluginOf(wanted.path ?? "");
  if (other === undefined) return "a plugin knows the kernel and other plugins' types";
  if (wanted.path !== `plugins/${other}/index.ts`) return "a plugin is entered by its index.ts";
  if (wanted.typeOnly || own === "testing") return undefined;
  return libraries[other]?.has(own) ? undefined : "another plugin gives types only: import type";
};

const forFiles = new Set(["errorTable", "codeOf", "DoorwardError", "ErrorContext"]);
const filesRule: Rule = (_, wanted) => {
  if (within("config/files", wanted)) return undefined;
  if (!isKernelDoor(wanted)) return "config/files stands on the kernel's errors alone";
  return wanted.typeOnly || wanted.names.every((name) => forFiles.has(name))
    ? undefined
    : "only the kernel's errors";
};

const compositionRule: Rule = (file, wanted) => {
  const { path = "" } = wanted;
  if (within("config", wanted) || isKernelDoor(wanted)) {
    const isInside = within("config/files", wanted) && path !== "config/files/index.ts";
    return isInside ? "config/files is entered by its index.ts" : undefined;
  }
  if (/^plugins\/[^/]+\/index\.ts$/.test(path)) return undefined;
  if (file.startsWith("bin/") && within("bin", wanted)) return undefined;
  return "kernel and plugins are entered by their index.ts";
};

function ruleFor(file: string): Rule {
  if (file.startsWith("kernel/")) return kernelRule;
  if (file.startsWith("plugins/")) return pluginRule;
  if (file.startsWith("config/files/")) return filesRule;
  return compositionRule;
}

type Importer = Pick<Source, "path" | "imports">;

function refusals(files: readonly Importer[]): string[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap((wanted) => {
      const reason =
        packageRule(path, wanted) ??
        wholeRule(path, wanted) ??
        (wanted.path === undefined ? undefined : ruleFor(path)(path, wanted));
      return reason === undefined ? [] : [`${path} imports "${wanted.specifier}": ${reason}`];
    }),
  );
}

/** Files that reach themselves, as paths of imports. */
function cycles(files: readonly Importer[]): string[] {
  const values = (imports: readonly Import[]): string[] =>
    imports.flatMap(({ typeOnly, path }) => (typeOnly || path === undefined ? [] : [path]));
  const edges = new Map(files.map(({ path, imports }) => [path, values(imports)] as const));
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(" -> "));
    if (trail.includes(path) || done.has(path)) return;
    for (const next of edges.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) walk(path, []);
  return found;
}

const file = (path: string, text: string): Importer => ({
  path,
  imports: importsOf(path, codeOnly(text)),
});

describe("imports", () => {
  test("every file imports what the table allows", () => {
    expect(refusals(sources())).toEqual([]);
  });

  test("no file reaches itself through the values it imports", () => {
    expect(cycles(sources())).toEqual([]);
  });

  test("the reader tells types, values and dynamic imports apart", () => {
    const text = [
      'import type { A } from "./a.ts";',
      'import { type B, c as d } from "./b.ts";',
      'import e, { type F } from "e";',
      'export { type G } from "./g.ts";',
      'export * from "./h.ts";',
      'import "./i.css";',
      'const j = await import("./j.ts");',
      "import {",
      "  k,",
      "  l,",
      '} from "../k.ts";',
      '// import "./no.ts";',
      "/*",
      'import "./no.ts";',
      "*/",
      "const m = `",
      'import n from "no";',
      "`;",
    ].join("\n");
    const seen = file("plugins/one/index.ts", text).imports.map(
      ({ path, specifier, names, typeOnly, dynamic }) => [
        path ?? specifier,
        names.join(" "),
        typeOnly,
        dynamic,
      ],
    );
    expect(seen).toEqual([
      ["plugins/one/a.ts", "A", true, false],
      ["plugins/one/b.ts", "B c", false, false],
      ["e", "F", false, false],
      ["plugins/one/g.ts", "G", true, false],
      ["plugins/one/h.ts", "", false, false],
      ["plugins/k.ts", "k l", false, false],
      ["plugins/one/i.css", "", false, false],
      ["plugins/one/j.ts", "", false, true],
    ]);
  });

  test.each([
    ["kernel/a.ts", `import { http } from "../plugins/http/index.ts";`],
    ["kernel/a.ts", `import { readFile } from "node:fs/promises";`],
    ["plugins/one/index.ts", `import { http } from "../http/index.ts";`],
    ["plugins/one/index.ts", `import type { Peers } from "../http/peers.ts";`],
    ["plugins/one/index.ts", `import { scope } from "../../kernel/scope.ts";`],
    ["plugins/one/index.ts", `import { readJson } from "../../config/files/index.ts";`],
    ["plugins/one/index.ts", `import fastify from "fastify";`],
    ["plugins/one/index.ts", `import { z } from "zod";`],
    ["plugins/http/index.ts", `import { WebSocketServer } from "ws";`],
    ["plugins/dashboard/index.ts", `import { decode } from "../pico-wire/index.ts";`],
    ["plugins/pico-wire/index.ts", `import { codeOf } from "../../kernel/index.ts";`],
    ["plugins/dashboard/browser/a.ts", `import { x } from "../cookies.ts";`],
    ["config/files/a.ts", `import { createKernel } from "../../kernel/index.ts";`],
    ["config/presets/a.ts", `import { createLimiter } from "../../plugins/http/limiter.ts";`],
    ["plugins/http/config.ts", `import { z } from "zod";`],
    ["bin/a.ts", `import { leftPad } from "left-pad";`],
  ])("%s may not hold %s", (path, text) => {
    expect(refusals([file(path, text)])).toHaveLength(1);
  });

  test("a cycle of values is found, a cycle of types is none", () => {
    const other = file("kernel/b.ts", `import { a } from "./a.ts";`);
    expect(cycles([file("kernel/a.ts", `import { b } from "./b.ts";`), other])).toHaveLength(1);
    expect(cycles([file("kernel/a.ts", `import type { B } from "./b.ts";`), other])).toEqual([]);
  });
});
