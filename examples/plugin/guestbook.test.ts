import assert from "node:assert/strict";
import { test } from "node:test";
import { codeOf, type Configuration, type Plugin } from "doorward";
import { dashboard } from "doorward/plugins/dashboard";
import { http } from "doorward/plugins/http";
import { memoryTokens, testTokens, withKernel } from "doorward/testing";
import { guestbook } from "./guestbook.ts";

/** Changes settings in the same way as the dashboard. */
const editor = (): Plugin<{ configures: true; offers: { editor: Configuration } }> => ({
  name: "editor",
  api: 1,
  configures: true,
  start: ({ configuration }) => ({ editor: configuration }),
});
const plugins = () =>
  [memoryTokens(), http({ port: 0 }), dashboard(), guestbook(), editor()] as const;

await test("records a guest in the book, the event and the route", async () => {
  await withKernel(plugins(), async ({ kernel, clock }) => {
    clock.set(1_700_000_000_000);
    const signed: object[] = [];
    kernel.on("guestbook:signed", (event) => void signed.push(event));
    kernel.services.guestbook.sign("ann");
    assert.deepEqual(signed, [{ guest: "ann", entries: 1 }]);

    const route = new URL("api/x/guestbook/entries", kernel.services.http.addresses()[0]);
    assert.equal((await fetch(route)).status, 401);
    const response = await fetch(route, {
      headers: { authorization: `Bearer ${testTokens.launcher}` },
    });
    const { entries } = (await response.json()) as { entries: object[] };
    assert.deepEqual(entries, [{ guest: "ann", at: 1_700_000_000_000 }]);
  });
});

await test("rejects guests and a lower limit when the book is full", async () => {
  await withKernel(
    plugins(),
    async ({ kernel: { services } }) => {
      services.guestbook.sign("ann");
      services.guestbook.sign("bob");
      assert.throws(
        () => services.guestbook.sign("eve"),
        (error) => codeOf(error) === "guestbook_full",
      );
      await assert.rejects(
        services.editor.apply("guestbook", { max_entries: 1 }),
        /guestbook is full/,
      );
      const changed = await services.editor.apply("guestbook", { max_entries: 3 });
      assert.deepEqual(changed, { now: ["max_entries"], afterRestart: [] });
      services.guestbook.sign("eve");
      assert.equal(services.guestbook.entries().length, 3);
    },
    { config: { guestbook: { max_entries: 2 } } },
  );
});
