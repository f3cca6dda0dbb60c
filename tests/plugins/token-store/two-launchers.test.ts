import { readFile } from "node:fs/promises";
import { describe, expect, test, vi } from "vitest";
import { files, type TokenBackend } from "../../../plugins/token-store/index.ts";
import {
  withHome,
  withTokens,
  type Home,
  type TokenStand,
} from "../../support/token-store-harness.ts";

const claims = { launcher: { generate: true }, pico: { generate: true } } as const;
const stored = async (home: Home): Promise<unknown> =>
  (JSON.parse(await readFile(home.at("launcher-config.json"), "utf8")) as Record<string, unknown>)[
    "launcher_token"
  ];

/** Forms of one home that have all looked for a token before any of them makes one. */
function together(home: Home, count: number): TokenBackend[] {
  const looked = new Map<string, { left: number; all: Promise<void>; open: () => void }>();
  const gateOf = (name: string) => {
    const known = looked.get(name);
    if (known) return known;
    let open = (): void => undefined;
    const gate = {
      left: count,
      all: new Promise<void>((done) => {
        open = done;
      }),
      open: () => open(),
    };
    looked.set(name, gate);
    return gate;
  };
  return Array.from({ length: count }, () => {
    const form = files({ home: home.path, env: {} });
    return {
      ...form,
      async resolve(name, held) {
        const found = await form.resolve(name, held);
        const gate = gateOf(name);
        gate.left -= 1;
        if (gate.left === 0) gate.open();
        await gate.all;
        return found;
      },
    };
  });
}

describe("two launchers of one home", () => {
  test("that start at once for the first time have one token, and their owner is still asked", () =>
    withHome(async (home) => {
      const [one, other] = together(home, 2) as [TokenBackend, TokenBackend];
      const stands: TokenStand[] = [];
      let leave = (): void => undefined;
      const looked = new Promise<void>((done) => {
        leave = done;
      });
      const visit = async (stand: TokenStand): Promise<void> => {
        stands.push(stand);
        if (stands.length < 2) return looked;
        for (const name of ["launcher", "pico"]) {
          expect(new Set(stands.map(({ secrets }) => secrets.reveal(name))).size, name).toBe(1);
        }
        expect(stands[0]?.secrets.reveal("launcher")).toBe(await stored(home));
        expect(stands.map(({ kernel }) => kernel.state())).toEqual(["setup", "setup"]);
      };
      const run = (form: TokenBackend): Promise<void> =>
        withTokens(form, claims, visit).finally(leave);
      await Promise.all([run(one), run(other)]);
    }));

  test("one whose token another has generated anew goes on asking its owner", () =>
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
