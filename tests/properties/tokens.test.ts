import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import {
  memory,
  files,
  type TokenBackend,
  type TokenSource,
} from "../../plugins/token-store/index.ts";
import { withTokens } from "../support/token-store-harness.ts";
import { runs } from "../support/runs.ts";

async function inHome<T>(visit: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), "doorward-tokens-"));
  try {
    return await visit(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** The content of all files of a folder, as one text. */
async function contentsOf(home: string): Promise<string> {
  const names = (await readdir(home, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  return (
    await Promise.all(names.map((entry) => readFile(join(entry.parentPath, entry.name), "utf8")))
  ).join("\n");
}

// A source may have no token, a blank one, or one with white space around it.
const blank = fc.constantFrom("", " ", "\t", "  \n ");
const value = fc.stringMatching(/^[0-9A-Za-z_-]{16,24}$/);
const padded = fc
  .tuple(fc.constantFrom("", " ", "\t "), value, fc.constantFrom("", " ", "\n"))
  .map((parts) => parts.join(""));
const place = fc.option(
  fc.oneof({ weight: 1, arbitrary: blank }, { weight: 2, arbitrary: padded }),
  { nil: undefined },
);
const present = (text: string | undefined): string | undefined => text?.trim() || undefined;

const claims = { launcher: { generate: true as const }, pico: {}, pico_client: {} };
interface Places {
  readonly launcherEnv: string | undefined;
  readonly launcherFile: string | undefined;
  readonly picoEnv: string | undefined;
  readonly picoSecurity: string | undefined;
  readonly picoConfig: string | undefined;
  readonly clientEnv: string | undefined;
  readonly clientSecurity: string | undefined;
}
const places: fc.Arbitrary<Places> = fc.record({
  launcherEnv: place,
  launcherFile: place,
  picoEnv: place,
  picoSecurity: place,
  picoConfig: place,
  clientEnv: place,
  clientSecurity: place,
});

/**
 * Writes the files.
 *
 * @returns The environment.
 */
async function furnish(home: string, given: Places): Promise<Record<string, string>> {
  if (given.launcherFile !== undefined) {
    await writeFile(
      join(home, "launcher-config.json"),
      JSON.stringify({ port: 1, launcher_token: given.launcherFile }),
      { mode: 0o600 },
    );
  }
  const channels = {
    ...(given.picoSecurity === undefined ? {} : { pico: { token: given.picoSecurity } }),
    ...(given.clientSecurity === undefined ? {} : { pico_client: { token: given.clientSecurity } }),
  };
  if (Object.keys(channels).length > 0) {
    await writeFile(join(home, ".security.yml"), stringify({ channels }), { mode: 0o600 });
  }
  if (given.picoConfig !== undefined) {
    await writeFile(
      join(home, "config.json"),
      JSON.stringify({ channels: { pico: { enabled: true, token: given.picoConfig } } }),
    );
  }
  const env = {
    SERVICE_LAUNCHER_TOKEN: given.launcherEnv,
    SERVICE_CHANNELS_PICO_TOKEN: given.picoEnv,
    SERVICE_CHANNELS_PICO_CLIENT_TOKEN: given.clientEnv,
  };
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

const highest = (
  ...found: [TokenSource, string | undefined][]
): [TokenSource, string | undefined] =>
  found
    .map(([source, text]): [TokenSource, string | undefined] => [source, present(text)])
    .find(([, text]) => text !== undefined) ?? ["none", undefined];

describe("token store", () => {
  test("takes the token from the source with the highest precedence", async () => {
    await fc.assert(
      fc.asyncProperty(places, (given) =>
        inHome(async (home) => {
          const form = files({ home, env: await furnish(home, given) });
          const expected = {
            launcher: highest(["env", given.launcherEnv], ["config", given.launcherFile]),
            pico: highest(
              ["env", given.picoEnv],
              ["security", given.picoSecurity],
              ["config", given.picoConfig],
            ),
            pico_client: highest(["env", given.clientEnv], ["security", given.clientSecurity]),
          };
          await withTokens(form, claims, async ({ claimed, secrets, tokens, kernel }) => {
            for (const [name, [source, text]] of Object.entries(expected)) {
              const generated = name === "launcher" && source === "none";
              expect(claimed[name]?.source).toBe(generated ? "random" : source);
              expect(claimed[name]?.managedByEnv).toBe(source === "env");
              if (!generated) expect(secrets.reveal(name)).toBe(text);
            }
            expect(kernel.state()).toBe(expected.launcher[0] === "none" ? "setup" : "running");
            for (const candidate of Object.values(given).map(present)) {
              if (candidate === undefined) continue;
              expect(await tokens.verify("pico", candidate)).toBe(
                candidate === expected.pico[1] ? 1 : false,
              );
            }
          });
        }),
      ),
      { numRuns: runs(100) },
    );
  });

  // Random operations on the tokens after they were claimed.
  const action = fc.oneof(
    fc.record({
      kind: fc.constant("replace" as const),
      name: fc.constantFrom("launcher", "pico", "pico_client"),
      value: fc.option(value, { nil: undefined }),
    }),
    fc.record({
      kind: fc.constant("weak" as const),
      name: fc.constantFrom("launcher", "pico"),
      value: fc.stringMatching(/^[a-z]{10,15}$/),
    }),
    fc.record({ kind: fc.constant("keep" as const), name: fc.constant("launcher") }),
    fc.record({
      kind: fc.constant("verify" as const),
      name: fc.constantFrom("launcher", "pico"),
      value,
    }),
    fc.record({ kind: fc.constant("break" as const) }),
  );

  /** A token form whose writes can fail with an error that quotes the token. */
  function breakable(form: TokenBackend): TokenBackend & { broken: boolean } {
    const own: TokenBackend & { broken: boolean } = {
      ...form,
      broken: false,
      async write(name, token, options) {
        if (own.broken) throw new Error(`cannot write ${token}`);
        await form.write(name, token, options);
      },
    };
    return own;
  }

  const rendered = (what: unknown): string =>
    JSON.stringify(what, (_, each: unknown) =>
      each instanceof Error
        ? { message: each.message, stack: each.stack, cause: each.cause }
        : each,
    ) ?? "";

  test("writes no token to events, log lines, errors or other files", async () => {
    await fc.assert(
      fc.asyncProperty(places, fc.array(action, { maxLength: 8 }), (given, actions) =>
        inHome(async (home) => {
          const env = await furnish(home, given);
          const inPlay = new Set(
            Object.values(given)
              .map(present)
              .filter((text) => text !== undefined),
          );
          const fromEnv = [given.launcherEnv, given.picoEnv, given.clientEnv].flatMap(
            (text) => present(text) ?? [],
          );
          const before = await contentsOf(home);
          const errors: unknown[] = [];
          const form = breakable(files({ home, env, secret: (text) => void inPlay.add(text) }));
          await withTokens(form, claims, async ({ secrets, tokens, facts, lines }) => {
            for (const each of actions) {
              if (each.kind === "break") form.broken = !form.broken;
              else if (each.kind === "verify") await tokens.verify(each.name, each.value);
              else {
                if ("value" in each && each.value !== undefined) inPlay.add(each.value.trim());
                const own =
                  each.kind === "keep" || each.value === undefined ? {} : { value: each.value };
                const change = each.kind === "keep" ? { keep: true as const } : own;
                const { version } = tokens.info(each.name);
                await secrets
                  .replace(each.name, { ...change, expect: version })
                  .catch((error: unknown) => errors.push(error));
              }
            }
            const said = rendered([facts, lines, errors]);
            for (const token of inPlay) expect(said.includes(token)).toBe(false);
          });
          const after = await contentsOf(home);
          for (const token of fromEnv)
            if (!before.includes(token)) expect(after.includes(token)).toBe(false);
        }),
      ),
      { numRuns: runs(100) },
    );
  });

  // Any UTF-16 text, unpaired surrogates included.
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
      .map((units) => String.fromCharCode(...units)),
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.constantFrom("\ud800", "\udfff", "\ufffd", "e\u0301", "\u00e9", "ÿ", "\u0000"),
  );
  /** Variants of a text that could be mistaken for it. */
  const near = (token: string): fc.Arbitrary<string> =>
    fc.constantFrom(
      token,
      ` ${token}\n`,
      token.normalize("NFC"),
      token.normalize("NFD"),
      token.toUpperCase(),
      token.toLowerCase(),
      token.slice(0, -1),
      `${token}\u0000`,
      token.replaceAll(/[\ud800-\udfff]/g, "\ufffd"),
      Buffer.from(token, "utf8").toString("latin1"),
      Buffer.from(token, "utf8").toString(),
    );

  test("verifies exactly the equal token, except for surrounding white space", async () => {
    await fc.assert(
      fc.asyncProperty(
        text
          .filter((token) => token.trim() !== "")
          .chain((token) =>
            fc.tuple(fc.constant(token), fc.array(fc.oneof(text, near(token)), { maxLength: 8 })),
          ),
        ([token, candidates]) =>
          withTokens(memory({ pico: token }), { pico: {} }, async ({ tokens }) => {
            for (const candidate of [token, ...candidates]) {
              expect(await tokens.verify("pico", candidate)).toBe(
                candidate.trim() === token.trim() ? 1 : false,
              );
            }
          }),
      ),
      { numRuns: runs(250) },
    );
  });

  test("verifies nothing without a token", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 5 }), blank, (candidates, unset) =>
        withTokens(memory({ pico: unset }), { pico: {}, launcher: {} }, async ({ tokens }) => {
          for (const candidate of [...candidates, unset, "undefined", "null"]) {
            expect(await tokens.verify("pico", candidate)).toBe(false);
            expect(await tokens.verify("launcher", candidate)).toBe(false);
          }
        }),
      ),
      { numRuns: runs(50) },
    );
  });
});
