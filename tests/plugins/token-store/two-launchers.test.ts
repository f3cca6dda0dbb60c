// Tests two launchers that use the same home.
import { readFile } from "node:fs/promises";
import { describe, expect, test, vi } from "vitest";
import { files, type TokenBackend } from "../../../plugins/token-store/index.ts";
import {
  withHome,
  withTokens,
  type Home,
  type TokenServer,
} from "../../support/token-store-harness.ts";

const claims = { launcher: { generate: true }, pico: { generate: true } } as const;
const stored = async (home: Home): Promise<unknown> =>
  (JSON.parse(await readFile(home.at("launcher-config.json"), "utf8")) as Record<string, unknown>)[
    "launcher_token"
  ];

/** Creates backends that write only after all of them have looked for a token. */
function createParallelBackends(home: Home, count: number): TokenBackend[] {
  const searches = new Map<string, { left: number; all: Promise<void>; open: () => void }>();
  const searchOf = (name: string) => {
    const known = searches.get(name);
    if (known) return known;
    let open = (): void => undefined;
    const search = {
      left: count,
      all: new Promise<void>((done) => {
        open = done;
      }),
      open: () => open(),
    };
    searches.set(name, search);
    return search;
  };
  return Array.from({ length: count }, () => {
    const backend = files({ home: home.path, env: {} });
    return {
      ...backend,
      async resolve(name, held) {
        const found = await backend.resolve(name, held);
        const search = searchOf(name);
        search.left -= 1;
        if (search.left === 0) search.open();
        await search.all;
        return found;
      },
    };
  });
}

describe("TokenStore with two launchers", () => {
  test("shares one generated token and stays in setup", () =>
    withHome(async (home) => {
      const [first, second] = createParallelBackends(home, 2) as [TokenBackend, TokenBackend];
      const stands: TokenServer[] = [];
      let finish = (): void => undefined;
      const finished = new Promise<void>((done) => {
        finish = done;
      });
      const visit = async (server: TokenServer): Promise<void> => {
        stands.push(server);
        if (stands.length < 2) return finished;
        for (const name of ["launcher", "pico"]) {
          expect(new Set(stands.map(({ secrets }) => secrets.reveal(name))).size, name).toBe(1);
        }
        expect(stands[0]?.secrets.reveal("launcher")).toBe(await stored(home));
        expect(stands.map(({ kernel }) => kernel.state())).toEqual(["setup", "setup"]);
      };
      const run = (backend: TokenBackend): Promise<void> =>
        withTokens(backend, claims, visit).finally(finish);
      await Promise.all([run(first), run(second)]);
    }));

  test("stays in setup when another launcher generates a token", () =>
    withHome(async (home) => {
      await withTokens(files({ home: home.path, env: {} }), claims, async ({ kernel, secrets }) => {
        expect(kernel.state()).toBe("setup");
        await files({ home: home.path, env: {} }).write("launcher", "made-by-another-launcher", {
          setupPending: true,
        });
        await vi.waitFor(
          () => expect(secrets.reveal("launcher")).toBe("made-by-another-launcher"),
          { timeout: 20_000 },
        );
        expect(kernel.state()).toBe("setup");
        await files({ home: home.path, env: {} }).write("launcher", "chosen-by-the-owner", {
          setupPending: false,
        });
        await vi.waitFor(() => expect(kernel.state()).toBe("running"), { timeout: 20_000 });
      });
    }));
});
