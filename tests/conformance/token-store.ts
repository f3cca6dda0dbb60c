// Conformance tests for token backends.
import { expect, test } from "vitest";
import type { Awaitable } from "../../kernel/index.ts";
import type { TokenBackend } from "../../plugins/token-store/index.ts";

/**
 * Defines the tests that every token backend must pass.
 *
 * @param make - Creates a backend that contains `tokens`.
 */
export function storeFormConformance(
  make: (tokens: Readonly<Record<string, string>>) => Awaitable<TokenBackend>,
): void {
  const value = "correct-horse-battery-staple";

  test("resolves an initial token with its source, not pending", async () => {
    const form = await make({ launcher: value, pico: `${value}-2` });
    expect(await form.resolve("launcher")).toMatchObject({
      value,
      source: expect.stringMatching(/^(env|security|config|host)$/),
    });
    expect((await form.resolve("launcher"))?.setupPending ?? false).toBe(false);
    expect((await form.resolve("pico"))?.value).toBe(`${value}-2`);
  });

  test("resolves no unknown token, whatever its name", async () => {
    const form = await make({ pico: value });
    for (const name of [
      "launcher",
      "metrics",
      "telegram",
      "constructor",
      "toString",
      "__proto__",
    ]) {
      expect(await form.resolve(name)).toBeUndefined();
    }
  });

  test.each(["", " ", "\t\n  "])("treats a blank value as unset (%j)", async (blank) => {
    const form = await make({ launcher: blank, pico: blank });
    expect(await form.resolve("launcher")).toBeUndefined();
    expect(await form.resolve("pico")).toBeUndefined();
  });

  test("trims values", async () => {
    expect((await (await make({ pico: `  ${value}\t` })).resolve("pico"))?.value).toBe(value);
  });

  test.each(["launcher", "pico", "pico_client"])(
    "resolves the last value written for %s",
    async (name) => {
      const form = await make({ [name]: "the-token-before-all" });
      await form.write(name, `${value}-1`, { setupPending: false });
      await form.write(name, `${value}-2`, { setupPending: false });
      expect((await form.resolve(name))?.value).toBe(`${value}-2`);
    },
  );

  test("keeps a generated launcher token pending until it is confirmed", async () => {
    const form = await make({});
    await form.write("launcher", value, { setupPending: true });
    expect(await form.resolve("launcher")).toMatchObject({ value, setupPending: true });
    await form.write("launcher", value, { setupPending: false });
    expect((await form.resolve("launcher"))?.setupPending).toBe(false);
  });

  test.each(["launcher", "pico"])(
    "rejects a second first token for %s and returns the first",
    async (name) => {
      const form = await make({});
      const written = (token: string) =>
        form.write(name, token, { setupPending: false, first: true });
      expect(await written(`${value}-1`)).toBeUndefined();
      expect(await written(`${value}-2`)).toMatchObject({ value: `${value}-1` });
      expect((await form.resolve(name))?.value).toBe(`${value}-1`);
    },
  );

  test("keeps tokens of different names apart", async () => {
    const form = await make({ launcher: value, pico: value, pico_client: value });
    await form.write("pico", `${value}-new`, { setupPending: false });
    expect((await form.resolve("launcher"))?.value).toBe(value);
    expect((await form.resolve("pico_client"))?.value).toBe(value);
  });

  test("loses nothing in concurrent writes", async () => {
    const form = await make({});
    const names = ["launcher", "pico", "pico_client", "telegram", "discord"];
    await Promise.all(
      names.map((name) => form.write(name, `${value}-${name}`, { setupPending: false })),
    );
    for (const name of names) expect((await form.resolve(name))?.value).toBe(`${value}-${name}`);
  });

  test.each([
    'with "quotes" and \\backslashes\\',
    "#hash: {braces} [brackets], *star & 'single'",
    "ünïcödé-☕-🔑",
    "0123456789012345",
    "true",
    "null",
    "line\nbreak",
  ])("preserves every character: %j", async (odd) => {
    const form = await make({});
    for (const name of ["launcher", "pico"]) {
      await form.write(name, odd, { setupPending: false });
      expect((await form.resolve(name))?.value).toBe(odd);
    }
  });

  test("returns a source label for a write", async () => {
    const form = await make({});
    for (const name of ["launcher", "pico"]) {
      expect(["security", "config", "host", undefined]).toContain(form.label?.(name));
    }
  });
}
