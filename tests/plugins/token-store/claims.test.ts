import { chmod, readFile, readdir, stat } from "node:fs/promises";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { codeOf } from "../../../kernel/index.ts";
import { files, memory } from "../../../plugins/token-store/index.ts";
import { codeFrom, refusal } from "../../support/sample-plugins.ts";
import { withFiles, withHome, withTokens } from "../../support/token-store-harness.ts";

const token = "correct-horse-battery-staple";

describe("the launcher's token", () => {
  test("the environment comes first, its label is env, and nothing is written", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { launcher_token: "the-one-in-the-file-x" });
      const before = await readFile(home.at("launcher-config.json"), "utf8");
      const env = { SERVICE_LAUNCHER_TOKEN: ` ${token} ` };
      await withFiles(
        home,
        env,
        { launcher: { generate: true } },
        async ({ claimed, tokens, kernel, lines }) => {
          expect(claimed["launcher"]).toEqual({ version: 1, source: "env", managedByEnv: true });
          expect(lines.map(({ text }) => text)).toEqual(["launcher token source: env"]);
          expect(await tokens.verify("launcher", token)).toBe(1);
          expect(kernel.state()).toBe("running");
        },
      );
      expect(await readdir(home.path)).toEqual(["launcher-config.json"]);
      expect(await readFile(home.at("launcher-config.json"), "utf8")).toBe(before);
    }));

  test("then the file, labelled config", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { port: 18800, launcher_token: token });
      const env = { SERVICE_LAUNCHER_TOKEN: "  " };
      await withFiles(
        home,
        env,
        { launcher: { generate: true } },
        ({ claimed, kernel, secrets, lines }) => {
          expect(claimed["launcher"]).toEqual({
            version: 1,
            source: "config",
            managedByEnv: false,
          });
          expect(lines.map(({ text }) => text)).toEqual(["launcher token source: config"]);
          expect(secrets.reveal("launcher")).toBe(token);
          expect(kernel.state()).toBe("running");
        },
      );
    }));

  test("then a generated one of 256 bits: labelled random, in setup, and config at the next start", () =>
    withHome(
      async (home) => {
        let first = "";
        await withFiles(
          home,
          {},
          { launcher: { generate: true } },
          ({ claimed, kernel, secrets, facts, lines }) => {
            first = secrets.reveal("launcher") ?? "";
            expect(first).toMatch(/^[\w-]{43}$/);
            expect(claimed["launcher"]).toEqual({
              version: 1,
              source: "random",
              managedByEnv: false,
            });
            expect(kernel.state()).toBe("setup");
            expect(facts).toEqual([
              {
                type: "token-store:resolved",
                name: "launcher",
                version: 1,
                source: "random",
                managedByEnv: false,
              },
              { type: "kernel:state-changed", from: null, to: "setup" },
            ]);
            expect(lines).toContainEqual(
              expect.objectContaining({
                level: "info",
                source: "random",
                text: "launcher token source: random",
              }),
            );
          },
        );
        await withFiles(
          home,
          {},
          { launcher: { generate: true } },
          ({ claimed, kernel, secrets }) => {
            expect(secrets.reveal("launcher")).toBe(first);
            expect(claimed["launcher"]?.source).toBe("config");
            expect(kernel.state()).toBe("setup");
          },
        );
      },
      { fresh: true },
    ));

  test("it is told once, after it was stored, to whoever shows it", () =>
    withHome(async (home) => {
      const told: string[] = [];
      const form = () =>
        files({ home: home.path, env: {}, generated: (value) => void told.push(value) });
      await withTokens(form(), { launcher: { generate: true } }, ({ secrets }) =>
        expect(told).toEqual([secrets.reveal("launcher")]),
      );
      await withTokens(form(), { launcher: { generate: true } }, async ({ secrets }) => {
        await secrets.replace("launcher", { value: token, expect: 1 });
        expect(told).toHaveLength(1);
      });
    }));

  test("a claim without `generate` writes nothing, and without a token the launcher stays unconfigured", () =>
    withHome(async (home) => {
      await withFiles(
        home,
        {},
        { launcher: {} },
        async ({ claimed, kernel, tokens, secrets, facts }) => {
          expect(claimed["launcher"]).toEqual({ version: 0, source: "none", managedByEnv: false });
          expect(kernel.state()).toBe("unconfigured");
          for (const candidate of ["", " ", "undefined", token]) {
            expect(await tokens.verify("launcher", candidate)).toBe(false);
          }
          expect(await readdir(home.path)).toEqual([]);
          expect(await secrets.replace("launcher", { value: token, expect: 0 })).toEqual({
            version: 1,
            source: "config",
            managedByEnv: false,
          });
          expect(kernel.state()).toBe("running");
          expect(facts.at(-1)).toEqual({
            type: "kernel:state-changed",
            from: "unconfigured",
            to: "running",
          });
          expect(await tokens.verify("launcher", token)).toBe(1);
        },
      );
    }));

  test("when nobody claims it, the kernel runs and no file is made", () =>
    withHome(async (home) => {
      await home.write(
        ".security.yml",
        "channels: { pico_client: { token: correct-horse-battery } }\n",
      );
      await withFiles(home, {}, { pico_client: {} }, ({ kernel, claimed }) => {
        expect(kernel.state()).toBe("running");
        expect(claimed["pico_client"]?.source).toBe("security");
      });
      expect(await readdir(home.path)).toEqual([".security.yml"]);
    }));

  test("metrics is read from the environment, then from launcher-config.json", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", {
        launcher_token: token,
        metrics_token: "metrics-of-the-file",
      });
      await withFiles(home, {}, { metrics: {} }, ({ secrets }) =>
        expect(secrets.reveal("metrics")).toBe("metrics-of-the-file"),
      );
      const env = { SERVICE_METRICS_TOKEN: "metrics-of-the-env" };
      await withFiles(home, env, { metrics: {} }, ({ secrets, claimed }) => {
        expect(secrets.reveal("metrics")).toBe("metrics-of-the-env");
        expect(claimed["metrics"]?.source).toBe("env");
      });
    }));
});

describe("a channel's token", () => {
  test.each([
    [
      "env",
      { SERVICE_CHANNELS_PICO_TOKEN: "token-of-the-environment" },
      "token-of-the-environment",
    ],
    ["security", { SERVICE_CHANNELS_PICO_TOKEN: "\t" }, "token-of-the-security-file"],
  ])("comes from %s when that is the highest", (source, env, expected) =>
    withHome(async (home) => {
      await home.write(
        ".security.yml",
        'channels:\n  pico:\n    token: "token-of-the-security-file"\n',
      );
      await home.write("config.json", {
        channels: { pico: { enabled: true, token: "token-of-the-configuration" } },
      });
      await withFiles(home, env, { pico: {} }, ({ claimed, secrets, lines }) => {
        expect(claimed["pico"]?.source).toBe(source);
        expect(secrets.reveal("pico")).toBe(expected);
        expect(lines.filter(({ level }) => level === "warn")).toEqual([]);
      });
    }),
  );

  test("in config.json it works, with the advice to move it", () =>
    withHome(async (home) => {
      await home.write(".security.yml", "channels:\n  pico:\n    token:\n");
      await home.write("config.json", {
        channels: { pico: { token: "token-of-the-configuration" } },
      });
      await withFiles(home, {}, { pico: {} }, ({ claimed, lines }) => {
        expect(claimed["pico"]?.source).toBe("config");
        const [warning] = lines.filter(({ level }) => level === "warn");
        expect(warning?.text).toContain(".security.yml for production");
        expect(warning?.text).toContain("SERVICE_CHANNELS_PICO_TOKEN for containers");
        expect(JSON.stringify(lines)).not.toContain("token-of-the-configuration");
      });
    }));

  test("a config.json elsewhere is read there, the secret files stay in the home", () =>
    withHome(async (home) => {
      await withHome(async (other) => {
        await other.write("my.json", {
          channels: { pico: { token: "token-of-the-configuration" } },
        });
        const form = () => files({ home: home.path, env: {}, config: other.at("my.json") });
        await withTokens(form(), { pico: {} }, async ({ claimed, secrets }) => {
          expect(claimed["pico"]?.source).toBe("config");
          await secrets.replace("pico", { value: token, expect: 1 });
        });
        await withTokens(form(), { pico: {} }, ({ claimed }) =>
          expect(claimed["pico"]?.source).toBe("security"),
        );
        expect(await readdir(other.path)).toEqual(["my.json"]);
      });
    }));

  test("every channel has its own variable, in the host's brand", () =>
    withHome(async (home) => {
      const env = {
        ACME_CHANNELS_PICO_CLIENT_TOKEN: "client-token-of-acme",
        ACME_CHANNELS_TELEGRAM_TOKEN: "telegram-token-of-acme",
        SERVICE_CHANNELS_PICO_TOKEN: token,
      };
      const form = files({ home: home.path, env, brand: "acme" });
      await withTokens(form, { pico_client: {}, telegram: {}, pico: {} }, ({ secrets }) => {
        expect(secrets.reveal("pico_client")).toBe("client-token-of-acme");
        expect(secrets.reveal("telegram")).toBe("telegram-token-of-acme");
        expect(secrets.reveal("pico")).toBeUndefined();
      });
    }));

  test("a generated one has 64 hex digits, needs no setup, and is kept in .security.yml", () =>
    withHome(async (home) => {
      await withFiles(
        home,
        {},
        { pico: { generate: true } },
        async ({ secrets, kernel, claimed }) => {
          expect(secrets.reveal("pico")).toMatch(/^[0-9a-f]{64}$/);
          expect(claimed["pico"]?.source).toBe("random");
          expect(kernel.state()).toBe("running");
          expect(await readFile(home.at(".security.yml"), "utf8")).toContain(
            secrets.reveal("pico"),
          );
        },
      );
      await withFiles(home, {}, { pico: {} }, ({ claimed }) =>
        expect(claimed["pico"]?.source).toBe("security"),
      );
    }));

  test.each([
    "1234567890123456",
    "0012345678901234567890",
    "0x1234567890123456",
    "1e10",
    "12345678901234567890123",
  ])("digits without quotation marks are the text that was written: %s", (value) =>
    withHome(async (home) => {
      await home.write(".security.yml", `channels:\n  pico:\n    token: ${value}\n`);
      await withFiles(home, {}, { pico: {} }, ({ secrets }) =>
        expect(secrets.reveal("pico")).toBe(value),
      );
    }),
  );

  test("a number that JSON cannot hold exactly is refused", () =>
    withHome(async (home) => {
      await home.write("config.json", '{"channels":{"pico":{"token":12345678901234567890123}}}');
      expect(await codeFrom(withFiles(home, {}, { pico: {} }, () => undefined))).toBe(
        "token_not_text",
      );
    }));

  test.each(["[a, b]", "{ a: b }", "true"])(
    "a value that is no text stops the start, naming its place and never showing it: %s",
    (value) =>
      withHome(async (home) => {
        await home.write(".security.yml", `channels:\n  pico:\n    token: ${value}\n`);
        const error = await refusal(withFiles(home, {}, { pico: {} }, () => undefined));
        expect(error.code).toBe("token_not_text");
        expect(error.message).toBe(
          `${home.at(".security.yml")}: "channels.pico.token" must be text in quotation marks.`,
        );
      }),
  );
});

test("what nobody claimed cannot be asked about, and one name has one owner", () =>
  withTokens(memory({ pico: token }), { pico: {} }, async ({ tokens, secrets }) => {
    expect(await codeFrom(tokens.claim("pico"))).toBe("token_claimed_twice");
    expect(await codeFrom(tokens.verify("launcher", token))).toBe("token_unclaimed");
    expect(await codeFrom(() => tokens.info("launcher"))).toBe("token_unclaimed");
    expect(await codeFrom(() => tokens.derive("launcher", "cookie"))).toBe("token_unclaimed");
    expect(await codeFrom(() => secrets.reveal("launcher"))).toBe("token_unclaimed");
    expect(await codeFrom(secrets.replace("launcher", { expect: 0 }))).toBe("token_unclaimed");
  }));

test.each([
  ["short", "fewer than 16 characters"],
  ["ott_0123456789abcdef", "one-time links"],
  ["correct horse battery staple", "token64.<base64url>"],
  ["two-lines-as-openssl\nwrites-them", "line break"],
])(
  "a questionable token from outside works, with a warning that does not show it: %s",
  (weak, doubt) =>
    withTokens(memory({ pico: weak }), { pico: {} }, async ({ tokens, lines }) => {
      expect(await tokens.verify("pico", weak)).toBe(1);
      const [warning] = lines.filter(({ level }) => level === "warn");
      expect(warning?.text).toContain(doubt);
      expect(JSON.stringify(lines)).not.toContain(weak);
    }),
);

test("one under 8 characters opens nothing that other machines can reach: they would guess it", async () => {
  const claim = { launcher: { generate: true, exposed: true } } as const;
  const error = await refusal(withTokens(memory({ launcher: "1234567" }), claim, () => undefined));
  expect(error.code).toBe("token_too_short");
  expect(error.message).not.toContain("1234567");
  for (const fine of [memory({ launcher: "12345678" }), memory()]) {
    await withTokens(fine, claim, ({ kernel }) => expect(kernel.state()).not.toBe("unconfigured"));
  }
});

describe("a host's own check", () => {
  const form = {
    ...memory(),
    verify: (_name: string, candidate: string) => Promise.resolve(candidate === "open sesame"),
  };

  test("answers in place of a comparison, with the candidate trimmed; blank never reaches it", async () => {
    const asked: string[] = [];
    const own = {
      ...form,
      verify: (name: string, candidate: string) => {
        asked.push(candidate);
        return form.verify(name, candidate);
      },
    };
    await withTokens(own, { launcher: { generate: true } }, async ({ tokens, kernel, claimed }) => {
      expect(claimed["launcher"]).toEqual({ version: 1, source: "host", managedByEnv: false });
      expect(kernel.state()).toBe("running");
      expect(await tokens.verify("launcher", " open sesame ")).toBe(1);
      expect(await tokens.verify("launcher", "close sesame")).toBe(false);
      expect(await tokens.verify("launcher", "  ")).toBe(false);
      expect(asked).toEqual(["open sesame", "close sesame"]);
      expect(tokens.derive("launcher", "cookie")).toHaveLength(32);
    });
  });

  test("that throws is a store that cannot answer: its words, which may quote the candidate, are nobody's", async () => {
    const broken = {
      ...form,
      verify: (_: string, candidate: string): never => {
        throw Object.assign(new Error(`no entry for ${candidate}`), { code: "ECONNREFUSED" });
      },
    };
    await withTokens(broken, { launcher: { generate: true } }, async ({ tokens, lines }) => {
      const error = await tokens
        .verify("launcher", "open sesame")
        .catch((thrown: unknown) => thrown as Error);
      expect(codeOf(error)).toBe("store_unavailable");
      expect((error as Error).message).toBe(
        "The token could not be checked: the host's own check failed. Try again in a moment.",
      );
      expect(inspect([error, lines], { depth: 9 })).not.toContain("sesame");
      expect(lines.at(-1)).toMatchObject({
        level: "error",
        name: "launcher",
        code: "ECONNREFUSED",
      });
    });
  });
});

describe("the files", () => {
  test("a fresh home is 0700 with a .gitignore, its secret files 0600", () =>
    withHome(
      async (home) => {
        await withFiles(
          home,
          {},
          { launcher: { generate: true }, pico: { generate: true } },
          () => undefined,
        );
        const mode = async (path: string): Promise<string> =>
          ((await stat(path)).mode & 0o777).toString(8);
        expect(await mode(home.path)).toBe("700");
        expect(await mode(home.at("launcher-config.json"))).toBe("600");
        expect(await mode(home.at(".security.yml"))).toBe("600");
        const ignored = (await readFile(home.at(".gitignore"), "utf8")).trim().split("\n");
        expect(ignored).toEqual([
          ".security.yml",
          "cache/",
          "launcher-config.json",
          "logs/",
          "run/",
          "state/",
        ]);
        expect((await readdir(home.path)).toSorted()).toEqual([
          ".gitignore",
          ".security.yml",
          "launcher-config.json",
        ]);
      },
      { fresh: true },
    ));

  test.each([
    ["launcher-config.json", "launcher", JSON.stringify({ launcher_token: token })],
    [".security.yml", "pico", `channels:\n  pico:\n    token: ${token}\n`],
  ])("%s that others may read is narrowed with a warning", (name, claim, content) =>
    withHome(async (home) => {
      await home.write(name, content);
      await chmod(home.at(name), 0o644);
      await withFiles(home, {}, { [claim]: {} }, async ({ lines }) => {
        expect((await stat(home.at(name))).mode & 0o777).toBe(0o600);
        const [warning] = lines.filter(({ level }) => level === "warn");
        expect(warning?.text).toContain("0644");
        expect(JSON.stringify(lines)).not.toContain(token);
      });
    }),
  );

  test.each([
    [
      "launcher-config.json",
      "launcher",
      '{\n  "port": 18800,\n  "launcher_token": \n}\n',
      /launcher-config\.json, line 4, column 1: expected a value/,
    ],
    [
      "launcher-config.json",
      "launcher",
      "",
      /launcher-config\.json, line 1, column 1: expected a JSON object/,
    ],
    [
      ".security.yml",
      "pico",
      "channels:\n  pico:\n    token: 'open\n",
      /\.security\.yml, line 4, column 1: expected/,
    ],
    [
      ".security.yml",
      "pico",
      "channels:\n  pico:\n\t token: x\n",
      /\.security\.yml, line 3, column 1: expected/,
    ],
    [
      "config.json",
      "pico",
      '{"channels": {"pico": {"token": "abc"}}',
      /config\.json, line 1, column 40: expected/,
    ],
  ])(
    "a corrupt %s stops the start with its place and is never overwritten (%#)",
    (name, claim, content, sentence) =>
      withHome(async (home) => {
        await home.write(name, content);
        await expect(
          withFiles(home, {}, { [claim]: { generate: true } }, () => undefined),
        ).rejects.toThrow(sentence);
        expect(await readFile(home.at(name), "utf8")).toBe(content);
        expect(await readdir(home.path)).toEqual([name]);
      }),
  );

  test("a home that others may enter gets a warning and keeps its mode", () =>
    withHome(async (home) => {
      await chmod(home.path, 0o755);
      await withFiles(
        home,
        {},
        { launcher: { generate: true }, pico: { generate: true } },
        ({ lines }) => {
          const warnings = lines.filter(({ level }) => level === "warn").map(({ text }) => text);
          expect(warnings).toEqual([expect.stringContaining(`chmod 700 ${home.path}`)]);
        },
      );
      expect((await stat(home.path)).mode & 0o777).toBe(0o755);
    }));

  test("unknown keys, comments and layout stay when a token is written", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", '{ "port": 18800,\n\t"mine": {"a": [1, 2]} }\n');
      await home.write(
        ".security.yml",
        "# mine\nchannels:\n  telegram:   # the other one\n    token: 'abc' # here\n",
      );
      await withFiles(
        home,
        {},
        { launcher: { generate: true }, pico: { generate: true } },
        async ({ secrets }) => {
          const json = await readFile(home.at("launcher-config.json"), "utf8");
          expect(json).toContain('{ "port": 18800,\n\t"mine": {"a": [1, 2]}');
          expect(JSON.parse(json)).toMatchObject({
            port: 18800,
            mine: { a: [1, 2] },
            launcher_token: secrets.reveal("launcher"),
          });
          expect(await readFile(home.at(".security.yml"), "utf8")).toContain(
            "# mine\nchannels:\n  telegram:   # the other one\n    token: 'abc' # here\n",
          );
        },
      );
    }));

  // Nobody, root included, can make a folder in /proc.
  const onLinux = { skip: process.platform !== "linux" };
  test(
    "a home that cannot be made stops a start that must write, and not one that need not",
    onLinux,
    async () => {
      const start = (env: Record<string, string>) =>
        withTokens(
          files({ home: "/proc/doorward", env }),
          { launcher: { generate: true } },
          ({ kernel }) => expect(kernel.state()).toBe("running"),
        );
      expect(await codeFrom(start({}))).toBe("store_unavailable");
      await start({ SERVICE_LAUNCHER_TOKEN: token });
    },
  );

  test("a home that is a file stops the start", () =>
    withHome(async (home) => {
      await home.write("file", "not a folder");
      await expect(
        withTokens(
          files({ home: home.at("file"), env: {} }),
          { launcher: { generate: true } },
          () => undefined,
        ),
      ).rejects.toThrow("not a folder");
    }));

  test("every value that is read or written is told to whoever keeps it out of the log", () =>
    withHome(async (home) => {
      const told = new Set<string>();
      await home.write(".security.yml", `channels: {pico: {token: ${token}}}\n`);
      const form = files({
        home: home.path,
        env: { SERVICE_CHANNELS_TELEGRAM_TOKEN: "telegram-token-here" },
        secret: (value) => void told.add(value),
      });
      await withTokens(
        form,
        { launcher: { generate: true }, pico: {}, telegram: {} },
        async ({ secrets }) => {
          await secrets.replace("pico", { value: `${token}-2`, expect: 1 });
          expect(told).toEqual(
            new Set([secrets.reveal("launcher"), token, "telegram-token-here", `${token}-2`]),
          );
        },
      );
    }));
});

describe("a token in a file that is not text", () => {
  test("of digits alone, it is the token as written", () =>
    withHome(async (home) => {
      await home.write(".security.yml", "channels:\n  pico:\n    token: 12345678901234567890\n");
      await withFiles(home, {}, { pico: {} }, ({ secrets }) => {
        expect(secrets.reveal("pico")).toBe("12345678901234567890");
      });
    }));

  test.each(["token: [a, b]", "token: true", "token: {a: b}"])(
    "%s stops the start instead of meaning none",
    (line) =>
      withHome(async (home) => {
        await home.write(".security.yml", `channels:\n  pico:\n    ${line}\n`);
        const code = await codeFrom(withFiles(home, {}, { pico: {} }, () => undefined));
        expect(code).toBe("token_not_text");
      }),
  );
});
