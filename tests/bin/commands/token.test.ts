import { describe, expect, test } from "vitest";
import { UsageError } from "../../../bin/commands/command.ts";
import { withCommandLine } from "../../support/command-context.ts";

const OWN = "chosen-by-the-owner-0123456789";
const PICO = "6f1c0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab";
const security = `channels:\n  pico: # the channel\n    token: ${PICO}\n`;

describe("token without a running launcher", () => {
  test("set replaces a lost token by one from standard input", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", {
        port: 18_801,
        launcher_token: "forgotten-0123456789",
        setup_pending: "x",
      });
      const ran = await ownership.run("token set", `  ${OWN}\n`);
      expect([ran.code, ran.out]).toEqual([0, ""]);
      expect(JSON.parse(await ownership.read("launcher-config.json"))).toEqual({
        port: 18_801,
        launcher_token: OWN,
      });
      expect((await ownership.run("token show")).out).toBe(`${OWN}\n`);
    }));

  test("rotate keeps comments and prints only the new token", () =>
    withCommandLine(async (ownership) => {
      await ownership.write(".security.yml", security);
      const { code, out } = await ownership.run("token rotate pico");
      expect(code).toBe(0);
      expect(out).toMatch(/^[0-9a-f]{64}\n$/);
      expect((await ownership.read(".security.yml")).replaceAll('"', "")).toBe(
        security.replace(PICO, out.trim()),
      );
    }));

  test("set rejects a weak token with exit code 1 and writes nothing", () =>
    withCommandLine(async (ownership) => {
      const { code, said } = await ownership.run("token set pico", "short\n");
      expect([code, said]).toEqual([1, expect.stringContaining("fewer than 16 characters")]);
      await expect(ownership.read(".security.yml")).rejects.toThrow();
    }));

  test("rotate rejects a token from the environment", () =>
    withCommandLine(
      async (ownership) => {
        const { code, said } = await ownership.run("token rotate");
        expect([code, said]).toEqual([1, expect.stringContaining("SERVICE_LAUNCHER_TOKEN")]);
        expect((await ownership.run("token rotate -json")).json()).toMatchObject({
          error: "token_managed_by_env",
        });
      },
      { SERVICE_LAUNCHER_TOKEN: OWN },
    ));

  test("source names each source and ignored sources, without values", () =>
    withCommandLine(async (ownership) => {
      await ownership.write(".security.yml", security);
      await ownership.write("config.json", { channels: { pico: { token: "another-0123456789" } } });
      const { code, out, said } = await ownership.run("token source");
      expect([code, out]).toEqual([0, "launcher     none\npico         security\n"]);
      expect(said).toMatch(/ignored, different value: config/);
      expect((await ownership.run("token source pico -json")).json()).toMatchObject({
        running: false,
        tokens: [{ name: "pico", source: "security", others: [{ source: "config", same: false }] }],
      });
    }));

  test("show fails if the token does not exist", () =>
    withCommandLine(async (ownership) => {
      expect(await ownership.run("token show pico")).toMatchObject({
        code: 1,
        out: "",
        said: "doorward: There is no pico token. To generate one, run: doorward token rotate pico\n",
      });
    }));

  test.each([
    "token",
    "token lose",
    "token show pico now",
    "token set ../x",
    "token show -grace=1",
    "token rotate pico -grace=x",
    "token rotate pico -grace=3601",
    "token show -force",
  ])("%j fails with a usage error", (line) =>
    withCommandLine(async (ownership) => {
      await expect(ownership.run(line)).rejects.toThrow(UsageError);
    }),
  );

  test("set and rotate reject a name that resembles a known one", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("config.json", { channels: { telegram: {} } });
      await expect(ownership.run("token rotate picoo")).rejects.toThrow(
        'no channel has the name "picoo". Did you mean "pico"?',
      );
      await expect(ownership.run("token set telegran", `${OWN}\n`)).rejects.toThrow(UsageError);
      await expect(ownership.read(".security.yml")).rejects.toThrow();
      expect(await ownership.run("token show picoo")).toMatchObject({
        code: 1,
        said: 'doorward: There is no picoo token. Did you mean "pico"?\n',
      });
      expect((await ownership.run("token rotate picoo -force")).code).toBe(0);
      // From now on, files have a token of this name.
      expect((await ownership.run("token rotate picoo")).code).toBe(0);
    }));

  test("rotate warns of a channel that config.json does not name", () =>
    withCommandLine(async (ownership) => {
      const { code, out, said } = await ownership.run("token rotate discord");
      expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9a-f]{64}\n$/)]);
      expect(said).toContain('warning: no channel in config.json has the name "discord"\n');
      await ownership.write("config.json", { channels: { telegram: {} } });
      expect((await ownership.run("token rotate telegram")).said).not.toContain("warning");
      expect((await ownership.run("token rotate proxy_sign_in")).said).not.toContain("warning");
    }));

  test("set fails with a usage error without a token", () =>
    withCommandLine(async (ownership) => {
      await expect(ownership.run("token set", "\n")).rejects.toThrow(/standard input/);
    }));
});

describe("token with a running launcher", () => {
  test("rotate takes effect immediately in the running process", () =>
    withCommandLine(async (ownership) => {
      await ownership.write("launcher-config.json", { launcher_token: OWN });
      await ownership.write(".security.yml", security);
      const { kernel } = await ownership.start();
      const ran = await ownership.run("token rotate pico -json");
      expect(ran.json()).toEqual({
        name: "pico",
        source: "security",
        token: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      expect(await kernel.services.tokens.verify("pico", ran.json().token)).toBe(2);
      expect(await kernel.services.tokens.verify("pico", PICO)).toBe(false);
    }));

  test("rotate rejects a misspelt name of a token in use", () =>
    withCommandLine(async (ownership) => {
      await ownership.write(".security.yml", security);
      await ownership.start();
      await expect(ownership.run("token rotate picoo")).rejects.toThrow('Did you mean "pico"?');
      expect(await ownership.read(".security.yml")).toBe(security);
    }));

  test("set finishes setup with the launcher token", () =>
    withCommandLine(async (ownership) => {
      const { kernel } = await ownership.start();
      expect(kernel.state()).toBe("setup");
      expect(await ownership.run("token set launcher", OWN)).toMatchObject({
        code: 0,
        said: expect.stringContaining("in use now"),
      });
      expect(kernel.state()).toBe("running");
      expect(await kernel.services.tokens.verify("launcher", OWN)).toBe(2);
    }));

  test("show logs the access without the value", () =>
    withCommandLine(async (ownership) => {
      const { lines } = await ownership.start();
      const { out } = await ownership.run("token show");
      expect(JSON.parse(await ownership.read("launcher-config.json")).launcher_token).toBe(
        out.trim(),
      );
      expect(
        lines.some(({ text }) => text === "the launcher token was shown on the command line"),
      ).toBe(true);
      expect(JSON.stringify(lines)).not.toContain(out.trim());
    }));

  test("set and rotate reject weak tokens and tokens from the environment", () =>
    withCommandLine(
      async (ownership) => {
        await ownership.start();
        expect(await ownership.run("token set pico", "short")).toMatchObject({
          code: 1,
          said: expect.stringContaining("16"),
        });
        expect((await ownership.run("token rotate launcher -json")).json()).toMatchObject({
          error: "token_managed_by_env",
        });
        expect((await ownership.run("token source -json")).json()).toMatchObject({
          running: true,
          tokens: expect.arrayContaining([
            expect.objectContaining({
              name: "launcher",
              source: "env",
              variable: "SERVICE_LAUNCHER_TOKEN",
            }),
          ]),
        });
      },
      { SERVICE_LAUNCHER_TOKEN: OWN },
    ));
});
