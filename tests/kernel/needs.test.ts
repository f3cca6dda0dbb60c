import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin } from "../../kernel/index.ts";

const shop: AnyPlugin = { name: "shop", api: 1, start: () => ({ bread: "rye", milk: "oat" }) };

/** Starts a plugin that reads `needs.milk`. */
function start(needs: object): Promise<void> {
  const read = (services: Readonly<Record<string, string>>) => void services["milk"]!.length;
  const guest: AnyPlugin = {
    name: "guest",
    api: 1,
    needs,
    start: ({ needs: services }) => read(services as never),
  };
  return createKernel([shop], { plugins: [guest] }).start();
}

describe("needs", () => {
  test("suggests the service for a misspelt one", async () => {
    await expect(start({ braed: true })).rejects.toMatchObject({
      code: "KERNEL_NEED_UNMET",
      message:
        'Plugin "guest" needs the service "braed", which no earlier plugin offers. ' +
        'Did you mean "bread"?',
    });
  });

  test("names a service that a plugin reads without declaring it", async () => {
    await expect(start({ bread: true })).rejects.toMatchObject({
      code: "KERNEL_NEED_UNMET",
      message: 'Plugin "guest" reads needs.milk undeclared: add needs: { milk: true } to it.',
    });
    await start({ bread: true, milk: true });
  });
});
