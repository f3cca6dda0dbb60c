/*
 * Checks what the compiler rejects. `tsc -p tests` reports each line marked `@ts-expect-error` that
 * would compile, and each unmarked line that would not.
 */
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { createKernel, type Plugin } from "../../kernel/index.ts";
import { tokenStore, memory } from "../../plugins/token-store/index.ts";

interface Oven {
  bake(loaf: string): string;
}
type BakerFacts = { "baker:baked": { loaf: string; minutes: number } };

const baker: Plugin<{ emits: BakerFacts; offers: { oven: Oven } }> = {
  name: "baker",
  api: 1,
  start: () => ({ oven: { bake: (loaf) => loaf } }),
};
const guest: Plugin<{ listens: Pick<BakerFacts, "baker:baked">; needs: { oven: Oven } }> = {
  name: "guest",
  api: 1,
  needs: { oven: true },
  start({ needs, on }) {
    on("baker:baked", ({ loaf }) => void needs.oven.bake(loaf));
  },
};
const ear: Plugin<{ listens: Pick<BakerFacts, "baker:baked"> }> = {
  name: "ear",
  api: 1,
  start: () => undefined,
};
const maybe: Plugin<{ uses: { oven: Oven } }> = {
  name: "maybe",
  api: 1,
  uses: { oven: true },
  start: () => undefined,
};

describe("plugin list types", () => {
  test("accepts lists in which everything is offered and emitted", () => {
    const kernel = createKernel([baker, guest, ear, maybe]);
    expectTypeOf(kernel.services.oven).toEqualTypeOf<Oven>();
    kernel.on("baker:baked", ({ minutes }) => void expectTypeOf(minutes).toEqualTypeOf<number>());
    kernel.on("kernel:state-changed", ({ to }) => void to);
    createKernel([maybe]);
    createKernel([]);
  });

  test("rejects lists that miss a service or an event", () => {
    // @ts-expect-error - no plugin offers the service `oven`
    createKernel([guest]);
    // @ts-expect-error - `oven` is offered by a later plugin, not by an earlier one
    createKernel([guest, baker]);
    // @ts-expect-error - no plugin of the list emits `baker:baked`
    createKernel([ear]);
    // @ts-expect-error - one plugin is wired well, the other is not
    createKernel([tokenStore(memory()), guest]);
  });

  test("names the missing service or event in the error", () => {
    type Refused<T> = T extends { readonly "no earlier plugin offers oven": never } ? true : false;
    type Unheard<T> = T extends { readonly "no plugin emits baker:baked": never } ? true : false;
    expectTypeOf<
      Refused<Parameters<typeof createKernel<[typeof guest]>>[0]>
    >().toEqualTypeOf<true>();
    expectTypeOf<Unheard<Parameters<typeof createKernel<[typeof ear]>>[0]>>().toEqualTypeOf<true>();
  });

  test("types a kernel by the services and events of its plugins", () => {
    const kernel = createKernel([baker]);
    // @ts-expect-error - no plugin of the list offers `milk`
    void kernel.services.milk;
    // @ts-expect-error - no plugin of the list emits `baker:slept`
    kernel.on("baker:slept", () => undefined);
    // @ts-expect-error - `temperature` is not in the payload
    kernel.on("baker:baked", ({ temperature }) => void temperature);
  });

  test("rejects a plugin whose value contradicts its type", () => {
    const typeOnly: Plugin<{ needs: { oven: Oven } }> = {
      name: "a",
      api: 1,
      start: () => undefined,
    };
    type Breakfast = { needs: { oven: Oven; milk: string } };
    const half: Plugin<Breakfast> = {
      name: "a",
      api: 1,
      // @ts-expect-error - `needs` must name `milk` too
      needs: { oven: true },
      start: () => undefined,
    };
    const usesTypeOnly: Plugin<{ uses: { oven: Oven } }> = {
      name: "a",
      api: 1,
      start: () => undefined,
    };
    const extra: Plugin<{ emits: BakerFacts }> = {
      name: "baker",
      api: 1,
      // @ts-expect-error - needs a service that is not in its shape
      needs: { oven: true },
      start: () => undefined,
    };
    // @ts-expect-error - offers `oven` but returns nothing
    const empty: Plugin<{ offers: { oven: Oven } }> = { name: "a", api: 1, start: () => undefined };
    // @ts-expect-error - the version of the contract is 1
    const old: Plugin = { name: "a", api: 2, start: () => undefined };
    // @ts-expect-error - a driver declares it at run time too
    const driver: Plugin<{ drives: true }> = { name: "a", api: 1, start: () => undefined };
    // @ts-expect-error - a plugin that changes the configuration declares it at run time too
    const configurer: Plugin<{ configures: true }> = { name: "a", api: 1, start: () => undefined };
    // @ts-expect-error - a plugin with a configuration names its section
    const sectionless: Plugin<{ config: { port: number } }> = {
      name: "a",
      api: 1,
      start: () => undefined,
    };
    expect([
      typeOnly,
      half,
      usesTypeOnly,
      extra,
      empty,
      old,
      driver,
      configurer,
      sectionless,
    ]).toHaveLength(9);
  });

  test("rejects a schema whose output differs from the plugin configuration", () => {
    const config = { section: "a", schema: z.strictObject({ port: z.string() }) };
    const wrong: Plugin<{ config: { port: number } }> = {
      name: "a",
      api: 1,
      // @ts-expect-error - the plugin reads a number where the schema gives a string
      config,
      start: () => undefined,
    };
    const right: Plugin<{ config: { port: string } }> = {
      name: "a",
      api: 1,
      config,
      start: () => undefined,
    };
    expect([wrong, right]).toHaveLength(2);
  });

  test("types a scope by its shape", () => {
    const plain: Plugin<{
      emits: BakerFacts;
      listens: { "mill:ground": { kilos: number } };
      uses: { milk: string };
    }> = {
      name: "baker",
      api: 1,
      uses: { milk: true },
      start(scope) {
        scope.emit("baker:baked", { loaf: "rye", minutes: 40 });
        scope.emit("baker:baked", () => ({ loaf: "rye", minutes: 40 }));
        // @ts-expect-error - `minutes` is missing
        scope.emit("baker:baked", { loaf: "rye" });
        // @ts-expect-error - `minutes` is a number
        scope.emit("baker:baked", { loaf: "rye", minutes: "40" });
        // @ts-expect-error - `minutes` is missing in what the function builds
        scope.emit("baker:baked", () => ({ loaf: "rye" }));
        // @ts-expect-error - an event of another plugin
        scope.emit("mill:ground", { kilos: 1 });
        // @ts-expect-error - an event of the kernel
        scope.emit("kernel:fault", { plugin: "", during: "", code: "", message: "" });
        // @ts-expect-error - an event that the shape does not listen to
        scope.on("mill:closed", () => undefined);
        // @ts-expect-error - `grams` is not in the payload
        scope.on("mill:ground", ({ grams }) => void grams);
        // @ts-expect-error - only a driver can send commands
        void scope.lifecycle.send;
        // @ts-expect-error - only a plugin that configures gets the configuration
        void scope.configuration.describe;
        // @ts-expect-error - a service that the shape does not name
        void scope.needs.oven;
        // @ts-expect-error - a used service may be absent
        void scope.uses.milk.length;
        // @ts-expect-error - without a section there is nothing to read
        void scope.config().port;
      },
    };
    const driver: Plugin<{ drives: true }> = {
      name: "driver",
      api: 1,
      drives: true,
      start({ lifecycle }) {
        lifecycle.send("begin-rotation");
        // @ts-expect-error - not a lifecycle command
        lifecycle.send("begin-dancing");
      },
    };
    expect([plain, driver]).toHaveLength(2);
  });

  test("compares services and events by type and name", () => {
    const electric: Plugin<{ offers: { oven: { heat(): void } } }> = {
      name: "electric",
      api: 1,
      start: () => ({ oven: { heat: () => undefined } }),
    };
    const listener: Plugin<{ listens: { "baker:baked": { slices: number } } }> = {
      name: "listener",
      api: 1,
      start: () => undefined,
    };
    const cook: Plugin<{ needs: { oven: Oven } }> = {
      name: "cook",
      api: 1,
      start: () => undefined,
    };
    // @ts-expect-error - the oven has another type
    createKernel([electric, cook]);
    // @ts-expect-error - the used oven has another type
    createKernel([electric, maybe]);
    // @ts-expect-error - the payload has another type
    createKernel([baker, listener]);
    // @ts-expect-error - the plugin that uses the oven comes before the one that offers it
    createKernel([maybe, baker]);
    // @ts-expect-error - two plugins offer `oven`
    createKernel([baker, electric]);
    const list: Plugin[] = [];
    // @ts-expect-error - the length of the list is unknown
    createKernel(list);
    const stranger: Plugin<{ emits: BakerFacts }> = {
      // @ts-expect-error - the events belong to `baker`
      name: "stranger",
      api: 1,
      start: () => undefined,
    };
    expect(stranger.name).toBe("stranger");
  });

  test("types the configuration by the sections of the shapes", () => {
    const schema = z.strictObject({ minutes: z.int().default(40) });
    const timer: Plugin<{
      config: z.output<typeof schema>;
      section: { timer: z.input<typeof schema> };
    }> = { name: "timer", api: 1, config: { section: "timer", schema }, start: () => undefined };
    createKernel([timer], { config: { timer: { minutes: 30 } } });
    createKernel([timer], { config: { timer: {} } as Record<string, unknown> });
    // @ts-expect-error - no section has this name
    createKernel([timer], { config: { time: { minutes: 30 } } });
    // @ts-expect-error - no setting has this name
    createKernel([timer], { config: { timer: { minute: 30 } } });
    // @ts-expect-error - the setting is a number
    createKernel([timer], { config: { timer: { minutes: "30" } } });
    const misplaced: Plugin<{ config: { minutes: number }; section: { timer: object } }> = {
      name: "misplaced",
      api: 1,
      // @ts-expect-error - the value names another section than the type
      config: { section: "other", schema },
      start: () => undefined,
    };
    expect(misplaced.name).toBe("misplaced");
  });
});
