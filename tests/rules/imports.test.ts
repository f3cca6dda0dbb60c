import { describe, expect, test } from "vitest";
import { codeOnly, importsOf, sources, type Import, type Source } from "./source.ts";

/* Checks which files may import which modules. A rule returns the reason for rejecting an import,
 * or undefined. Type-only imports load nothing: plugins may import the types of each other, and the
 * search for cycles ignores them. */

type Rule = (file: string, wanted: Import) => string | undefined;

const isBuiltin = ({ specifier }: Import): boolean => specifier.startsWith("node:");
const packageOf = (specifier: string): string => /^(@[^/]+\/)?[^/]+/.exec(specifier)![0];
const pluginOf = (path: string): string | undefined => /^plugins\/([^/]+)\//.exec(path)?.[1];
const within = (folder: string, { path }: Import): boolean =>
  path?.startsWith(`${folder}/`) === true;
const isKernelIndex = ({ path }: Import): boolean => path === "kernel/index.ts";

/** Package -> the files that may import it. */
const packages: Readonly<Record<string, RegExp>> = {
  xstate: /^(kernel\/(lifecycle|testing)|plugins\/pico-client\/machine)\.ts$/,
  "@fastify/busboy": /^plugins\/media\/form\.ts$/,
  mitt: /^kernel\/bus\.ts$/,
  fastify: /^plugins\/dashboard\/(server\/|index\.ts$)/, // only its types; see frameworkRule
  "@fastify/cookie": /^plugins\/dashboard\/server\/cookie-format\.ts$/,
  cookie: /^plugins\/dashboard\/server\/cookie-format\.ts$/,
  "prom-client": /^plugins\/dashboard\/server\/metrics\/exposition\.ts$/,
  ws: new RegExp(
    "^(plugins/pico-(server|client)/|testkit/|lib/pico-link/client\\.ts$|" +
      "plugins/dashboard/server/probe/socket\\.ts$|config/doctor/public/socket\\.ts$)",
  ),
  zod: new RegExp(
    "^plugins/((protocols/|dashboard/)?[^/]+/config|" +
      "dashboard/server/(request|auth/sign-in-keeper)|program/(protocol|tool-call)|media/file-id|" +
      // The application is checked where its messages enter.
      "channels/(question|message|step|status)-schema)\\.ts$|^lib/acp-wire/schema\\.ts$|^bin/acp/requests\\.ts$",
  ),
  "import-meta-resolve": /^config\/plugins\//,
  "jsonc-parser": /^lib\/files\//,
  yaml: /^lib\/files\//,
  preact: /^plugins\/dashboard\/pages\//,
  "@preact/signals": /^plugins\/dashboard\/pages\//,
  "preact-render-to-string": /^plugins\/dashboard\/pages\/render\.tsx$/,
  diff: /^lib\/file-diff\.ts$/,
  marked: /^plugins\/dashboard\/pages\//,
  temml: /^plugins\/dashboard\/pages\/chat\/markdown\//,
  lowlight: /^plugins\/dashboard\/pages\//,
  "highlight.js": /^plugins\/dashboard\/pages\//,
  uqr: /^plugins\/dashboard\/pages\//,
  pino: /^bin\//,
  "pino-pretty": /^bin\//,
};
/** The kernel uses no server, file system or socket; browser code uses nothing from Node. */
const withoutBuiltins =
  /^(kernel\/|lib\/(pico-(wire|link)\/|util\.ts$)|plugins\/dashboard\/pages\/)/;

const packageRule: Rule = (file, wanted) => {
  if (wanted.path !== undefined) return undefined;
  if (isBuiltin(wanted))
    return withoutBuiltins.test(file) ? "this folder may not import Node modules" : undefined;
  const allowed = packages[packageOf(wanted.specifier)];
  if (!allowed) return "no rule allows this package";
  return allowed.test(file) ? undefined : `only ${allowed.source} may import this package`;
};

/** An import by name bundles the whole package, with its messages in fifty languages. */
const wholeRule: Rule = (_, { specifier, names, typeOnly }) =>
  specifier === "zod" && names.length > 0 && !typeOnly
    ? 'this package is imported as "* as z"'
    : undefined;

/** The package contains the framework as one bundled module, so nothing else may load it. */
const frameworkRule: Rule = (file, { specifier, typeOnly }) =>
  specifier === "fastify" && !typeOnly && file !== "plugins/dashboard/server/web-framework.ts"
    ? "import the framework from plugins/dashboard/server/web-framework.ts"
    : undefined;

const kernelRule: Rule = (_, wanted) =>
  within("kernel", wanted) ? undefined : "the kernel imports only itself";

/** Functions of the kernel that lib/files may use. */
const kernelErrors = new Set([
  "errorTable",
  "codeOf",
  "DoorwardError",
  "ErrorContext",
  "Awaitable",
]);
/** Small functions without product knowledge, for every part. */
const isSmall = (path: string | undefined): boolean =>
  ["lib/util.ts", "lib/look-alikes.ts", "lib/line-reader.ts"].includes(path ?? "");
/** A library imports itself and small functions; lib/files the kernel errors; lib/child-process its
 *  types; lib/pico-link the codec. */
const libRule: Rule = (file, wanted) => {
  const own = file.split("/").slice(0, 2).join("/");
  if (within(own, wanted) || isSmall(wanted.path)) return undefined;
  if (own === "lib/files") {
    if (!isKernelIndex(wanted)) return "lib/files imports only the error functions of the kernel";
    const isAllowed = wanted.typeOnly || wanted.names.every((name) => kernelErrors.has(name));
    return isAllowed ? undefined : "only the error functions of the kernel";
  }
  if (own === "lib/child-process" && isKernelIndex(wanted) && wanted.typeOnly) return undefined;
  if (own === "lib/agent" && wanted.path === "lib/files/index.ts") return undefined;
  if (own === "lib/pico-link" && wanted.path === "lib/pico-wire/index.ts") return undefined;
  if (own === "lib/pico-link" && wanted.path === "lib/step-details.ts" && wanted.typeOnly)
    return undefined;
  return "this library imports only itself";
};

/** Library -> plugins that may import its index. */
const libraries: Readonly<Record<string, ReadonlySet<string>>> = {
  "lib/files/index.ts": new Set([
    "backup",
    "token-store",
    "settings",
    "pico-client",
    "dashboard",
    "conversations",
    "media",
    "program",
    "records",
  ]),
  "lib/pages.ts": new Set(["channels", "pico-server", "program"]),
  "lib/step-details.ts": new Set(["channels", "conversations"]),
  "lib/observed-promise.ts": new Set(["channels", "media", "pico-client", "records"]),
  "lib/child-process/index.ts": new Set(["program", "acp"]),
  "lib/acp-wire/index.ts": new Set(["acp"]),
  "lib/running-time.ts": new Set(["acp", "channels", "http", "media", "program", "protocols"]),
  "lib/steady-clock.ts": new Set(["backup", "conversations", "dashboard", "media", "decisions"]),
  "lib/pico-wire/index.ts": new Set([
    "conversations",
    "keys",
    "pico-server",
    "pico-client",
    "protocols",
    "redis",
  ]),
  "lib/pico-link/index.ts": new Set(["pico-client"]),
};
/**
 * Part of a plugin -> plugins that may import values from it. A channel makes the session log in
 * memory itself where the plugin `conversations` is not listed, and makes its entries.
 */
const sharedParts: Readonly<Record<string, ReadonlySet<string>>> = {
  "plugins/conversations/log/index.ts": new Set(["pico-server"]),
  "plugins/pico-server/config.ts": new Set(["protocols"]),
  "plugins/pico-server/handshake/admission.ts": new Set(["protocols"]),
  "plugins/pico-server/handshake/identity.ts": new Set(["protocols"]),
  "plugins/pico-server/handshake/origins.ts": new Set(["protocols"]),
  "plugins/pico-server/http/post-in-session.ts": new Set(["protocols"]),
  "plugins/pico-server/protocol-frames.ts": new Set(["protocols"]),
  "plugins/program/config.ts": new Set(["acp"]),
  "plugins/http/kit.ts": new Set(["dashboard", "media", "pico-server", "protocols", "push"]),
  "plugins/channels/history.ts": new Set(["dashboard"]),
  // Lines of programs and replies of hosts have one form.
  "plugins/channels/step-schema.ts": new Set(["program"]),
  "plugins/channels/status-schema.ts": new Set(["program"]),
  // Each protocol tells the sender what the host wrote for them.
  "plugins/channels/sender-error.ts": new Set(["pico-server", "protocols", "dashboard"]),
  // Words of both plugins, which the contract of channels exports again.
  "plugins/conversations/messages.ts": new Set(["channels"]),
  "plugins/http/request-error.ts": new Set(["dashboard", "protocols"]),
  "plugins/pico-server/connection/rate-limit.ts": new Set(["protocols"]),
};
/** Rooms that conversations and Redis share: one store has several forms. */
const storeParts = new RegExp(
  "^plugins/conversations/(contract|messages|errors|config|document|" +
    "question|question-frames|turn-frames|find-replies|unfinished|commit-metrics|log/[\\w-]+)\\.ts$",
);
/** The one part of the pages that the server loads: it renders them. */
const renderer = "plugins/dashboard/pages/render.tsx";
const inBrowser = /^plugins\/dashboard\/pages\//;
const inShared = /^plugins\/dashboard\/shared\//;
/** Entry points of plugins. */
const entry = /^plugins\/(protocols\/)?[^/]+\/index\.ts$/;

const pluginRule: Rule = (file, wanted) => {
  const own = pluginOf(file)!;
  const { path = "", typeOnly } = wanted;
  if (isSmall(path)) return undefined;
  if (inBrowser.test(file) || inShared.test(file)) return browserRule(file, wanted);
  if (within(`plugins/${own}`, wanted)) return layerRule(file, wanted);
  if (isKernelIndex(wanted)) return undefined;
  if (path.startsWith("lib/"))
    return libraries[path]?.has(own) ? undefined : "this plugin does not use this library";
  if (sharedParts[path]?.has(own)) return undefined;
  if (own === "redis" && storeParts.test(path)) return undefined;
  if (typeOnly && /^plugins\/[^/]+\/(contract|events)\.ts$/.test(path)) return undefined;
  const other = pluginOf(path);
  if (other === undefined) return "import only the kernel, libraries and types of plugins";
  if (own === "conversations" && ["channels", "redis"].includes(other))
    return "conversations imports neither channels nor a remote store";
  if (!entry.test(path)) return "import plugins by their index.ts";
  return typeOnly ? undefined : "import only types from another plugin: import type";
};

const typesOfBrowsers = new Set([
  "lib/pico-wire/index.ts",
  "lib/step-details.ts",
  "plugins/dashboard/index.ts",
]);

/** The chat page uses the client library, as any other client does. */
const browserRule: Rule = (file, wanted) => {
  const { path = "", typeOnly } = wanted;
  if (inShared.test(path)) return undefined;
  if (inShared.test(file))
    return typeOnly && (entry.test(path) || path === "lib/pico-wire/index.ts")
      ? undefined
      : "shared texts import neither pages nor server";
  if (inBrowser.test(path) || path === "lib/file-diff.ts") return undefined;
  if (path === "lib/pico-link/browser.ts") return undefined;
  return typeOnly && typesOfBrowsers.has(path)
    ? undefined
    : "browser modules load only browser modules";
};

/**
 * `order`: the folders of a plugin in layers; each may import values from itself and from the layers
 * after its own.
 * `shared`: the files that all folders of the plugin may import.
 */
const layers: Readonly<Record<string, { order: readonly (readonly string[])[]; shared: RegExp }>> =
  {
    "pico-server": {
      order: [["http"], ["handshake"], ["connection"], ["session"]],
      shared: /^(frame-encoding|metrics|config|errors)\.ts$/,
    },
    conversations: {
      order: [["sqlite"], ["log"]],
      shared:
        /^(errors|config|contract|messages|document|\w+-frames|find-replies|unfinished|commit-metrics)\.ts$/,
    },
    protocols: { order: [["ag-ui", "ai-sdk", "openai"]], shared: /^[^/]+\.ts$/ },
    "dashboard/server": {
      order: [["control"], ["api"], ["auth"]],
      shared: /^(request|reply|errors|config|assets|web-framework|cookie-format)\.ts$/,
    },
  };
const layerRule: Rule = (file, { path = "", typeOnly }) => {
  const own = within("plugins/dashboard/server", { path: file } as Import)
    ? "dashboard/server"
    : pluginOf(file)!;
  if (inShared.test(path)) return undefined;
  if (inBrowser.test(path))
    return path === renderer || typeOnly ? undefined : "the server loads no browser code";
  const [from, to] = [file, path].map((name) => name.slice(`plugins/${own}/`.length)) as [
    string,
    string,
  ];
  if (typeOnly) return undefined;
  if (to === "index.ts") return "nothing in a plugin imports its index.ts";
  const { order, shared } = layers[own] ?? { order: [], shared: /^$/ };
  const [folder, wanted] = [from, to].map((name) => name.split("/")[0]!) as [string, string];
  const at = order.findIndex((layer) => layer.includes(folder));
  if (at === -1 || shared.test(to) || wanted === folder) return undefined;
  const later = order.slice(at + 1).flat();
  return later.includes(wanted)
    ? undefined
    : `${folder} imports only ${[folder, ...later].join(", ")} and the shared files`;
};

const testkitRule: Rule = (_, wanted) => {
  const { path = "" } = wanted;
  if (within("testkit", wanted) || isKernelIndex(wanted)) return undefined;
  if (path === "kernel/testing.ts" || isSmall(path)) return undefined;
  if (path === "lib/pico-wire/index.ts") return undefined;
  return entry.test(path) ? undefined : "import only entry points";
};

const compositionRule: Rule = (file, wanted) => {
  const { path = "", typeOnly } = wanted;
  if (within("config", wanted) || isKernelIndex(wanted)) return undefined;
  if (path === "lib/files/index.ts" || isSmall(path)) return undefined;
  if (/^lib\/(pico|acp)-wire\/index\.ts$/.test(path) && file.startsWith("bin/")) return undefined;
  if (path === "lib/step-details.ts" && typeOnly) return undefined;
  if (path === "lib/file-diff.ts" && file.startsWith("bin/")) return undefined;
  if (typeOnly && /^lib\/[^/]+\/index\.ts$/.test(path)) return undefined;
  if (entry.test(path)) return undefined;
  if (file.startsWith("bin/") && within("bin", wanted)) return undefined;
  return "import the kernel, libraries and plugins by their index.ts";
};

function ruleFor(file: string): Rule {
  if (file.startsWith("kernel/")) return kernelRule;
  if (file.startsWith("lib/")) return libRule;
  if (file.startsWith("plugins/")) return pluginRule;
  if (file.startsWith("testkit/")) return testkitRule;
  return compositionRule;
}

type Importer = Pick<Source, "path" | "imports">;

function violations(files: readonly Importer[]): string[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap((wanted) => {
      const reason =
        packageRule(path, wanted) ??
        wholeRule(path, wanted) ??
        frameworkRule(path, wanted) ??
        (wanted.path === undefined ? undefined : ruleFor(path)(path, wanted));
      return reason === undefined ? [] : [`${path} imports "${wanted.specifier}": ${reason}`];
    }),
  );
}

const file = (path: string, text: string): Importer => ({
  path,
  imports: importsOf(path, codeOnly(text)),
});

describe("imports of the sources", () => {
  test("follow the rules in every file", () => {
    expect(violations(sources())).toEqual([]);
  });
});

describe("importsOf", () => {
  test("distinguishes types, values and dynamic imports", () => {
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
});

describe("violations", () => {
  test.each([
    ["kernel/a.ts", `import { http } from "../plugins/http/index.ts";`],
    ["kernel/a.ts", `import { readFile } from "node:fs/promises";`],
    ["lib/files/a.ts", `import { createKernel } from "../../kernel/index.ts";`],
    ["lib/pico-wire/index.ts", `import { codeOf } from "../../kernel/index.ts";`],
    ["lib/pico-link/a.ts", `import { decode } from "../pico-wire/decode.ts";`],
    ["lib/util.ts", `import { readFile } from "node:fs/promises";`],
    ["plugins/one/index.ts", `import { http } from "../http/index.ts";`],
    ["plugins/one/index.ts", `import type { Peers } from "../http/requests.ts";`],
    ["plugins/one/index.ts", `import { PluginRun } from "../../kernel/plugin-run.ts";`],
    ["plugins/one/index.ts", `import { readJson } from "../../lib/files/index.ts";`],
    ["plugins/one/index.ts", `import fastify from "fastify";`],
    ["plugins/one/index.ts", `import { z } from "zod";`],
    ["plugins/one/a.ts", `import { one } from "./index.ts";`],
    ["plugins/http/index.ts", `import { WebSocketServer } from "ws";`],
    ["plugins/dashboard/index.ts", `import { decode } from "../../lib/pico-wire/index.ts";`],
    ["plugins/dashboard/pages/a.ts", `import { x } from "../auth/cookies.ts";`],
    ["plugins/dashboard/server/app.ts", `import fastify from "fastify";`],
    ["plugins/dashboard/server/reply.ts", `import { x } from "../pages/live/b.ts";`],
    ["plugins/dashboard/server/auth/a.ts", `import { x } from "../api/b.ts";`],
    ["plugins/pico-server/session/a.ts", `import { x } from "../connection/b.ts";`],
    ["plugins/http/a.ts", `import { x } from "../conversations/log/index.ts";`],
    ["plugins/conversations/log/a.ts", `import { x } from "../../redis/b.ts";`],
    ["plugins/conversations/a.ts", `import type { x } from "../channels/index.ts";`],
    ["plugins/conversations/a.ts", `import type { x } from "../redis/index.ts";`],
    ["plugins/conversations/log/a.ts", `import { x } from "../sqlite/b.ts";`],
    ["plugins/conversations/sqlite/a.ts", `import { x } from "../../redis/b.ts";`],
    ["plugins/redis/a.ts", `import { x } from "../conversations/sqlite/b.ts";`],
    ["plugins/dashboard/shared/a.ts", `import { x } from "../pages/b.ts";`],
    ["plugins/dashboard/shared/a.ts", `import type { x } from "../server/b.ts";`],
    ["plugins/dashboard/pages/a.ts", `import type { x } from "../server/b.ts";`],
    ["plugins/protocols/openai/a.ts", `import { x } from "../ai-sdk/b.ts";`],
    ["plugins/redis/a.ts", `import { x } from "../conversations/open-store.ts";`],
    ["testkit/a.ts", `import { createLimiter } from "../plugins/http/limiter.ts";`],
    ["config/presets/a.ts", `import { createLimiter } from "../../plugins/http/limiter.ts";`],
    ["config/presets/a.ts", `import { replaceFile } from "../../lib/files/write.ts";`],
    ["plugins/http/config.ts", `import { z } from "zod";`],
    ["config/a.ts", `import { launch } from "../bin/launch.ts";`],
    ["plugins/one/index.ts", `import { load } from "../../config/load/index.ts";`],
    ["plugins/one/index.ts", `import { createRig } from "../../testkit/rig.ts";`],
    ["lib/files/a.ts", `import { http } from "../../plugins/http/index.ts";`],
    ["bin/a.ts", `import { leftPad } from "left-pad";`],
  ])("rejects in %s: %s", (path, text) => {
    expect(violations([file(path, text)])).toHaveLength(1);
  });
});
