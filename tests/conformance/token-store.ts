import { expect, test } from "vitest";
import type { Awaitable } from "../../kernel/index.ts";
import type { TokenBackend } from "../../plugins/token-store/index.ts";

/** What every form of the token store promises. `make` gives a fresh form that holds `tokens` from the start. */
export function storeFormConformance(
  make: (tokens: Readonly<Record<string, string>>) => Awaitable<TokenBackend>,
): void {
  const value = "correct-horse-battery-staple";

  test("a token it was given is resolved with its source, and is not pending", async () => {
    const form = await make({ launcher: value, pico: `${value}-2` });
    expect(await form.resolve("launcher")).toMatchObject({
      value,
      source: expect.stringMatching(/^(env|security|config|host)$/),
    });
    expect((await form.resolve("launcher"))?.setupPending ?? false).toBe(false);
    expect((await form.resolve("pico"))?.value).toBe(`${value}-2`);
  });

  test("a token nobody gave is not resolved, whatever its name", async () => {
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

  test.each(["", " ", "\t\n  "])("blank is unset (%j)", async (blank) => {
    const form = await make({ launcher: blank, pico: blank });
    expect(await form.resolve("launcher")).toBeUndefined();
    expect(await form.resolve("pico")).toBeUndefined();
  });

  test("the ends of a value are trimmed", async () => {
    expect((await (await make({ pico: `  ${value}\t` })).resolve("pico"))?.value).toBe(value);
  });

  test.each(["launcher", "pico", "pico_client"])(
    "what is written last for %s is resolved",
    async (name) => {
      const form = await make({ [name]: "the-token-before-all" });
      await form.write(name, `${value}-1`, { setupPending: false });
      await form.write(name, `${value}-2`, { setupPending: false });
      expect((await form.resolve(name))?.value).toBe(`${value}-2`);
    },
  );

  test("a generated launcher token stays pending until it is written as confirmed", async () => {
    const form = await make({});
    await form.write("launcher", value, { setupPending: true });
    expect(await form.resolve("launcher")).toMatchObject({ value, setupPending: true });
    await form.write("launcher", value, { setupPending: false });
    expect((await form.resolve("launcher"))?.setupPending).toBe(false);
  });

  test.each(["launcher", "pico"])(
    "of two first tokens for %s the second is not written, and told the first",
    async (name) => {
      const form = await make({});
      const written = (token: string) =>
        form.write(name, token, { setupPending: false, first: true });
      expect(await written(`${value}-1`)).toBeUndefined();
      expect(await written(`${value}-2`)).toMatchObject({ value: `${value}-1` });
      expect((await form.resolve(name))?.value).toBe(`${value}-1`);
    },
  );

  test("one name's token does not touch another's", async () => {
    const form = await make({ launcher: value, pico: value, pico_client: value });
    await form.write("pico", `${value}-new`, { setupPending: false });
    expect((await form.resolve("launcher"))?.value).toBe(value);
    expect((await form.resolve("pico_client"))?.value).toBe(value);
  });

  test("writes at the same time lose nothing", async () => {
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
  ])("every character survives: %j", async (odd) => {
    const form = await make({});
    for (const name of ["launcher", "pico"]) {
      await form.write(name, odd, { setupPending: false });
      expect((await form.resolve(name))?.value).toBe(odd);
    }
  });

  test("the label of what it writes is a source", async () => {
    const form = await make({});
    for (const name of ["launcher", "pico"]) {
      expect(["security", "config", "host", undefined]).toContain(form.label?.(name));
    }
  });
}
