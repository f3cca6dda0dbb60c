import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  START_TIME,
  DAY,
  TOKEN,
  isSignedIn,
  signIn,
  startDashboard,
} from "../support/dashboard-server.ts";
import { runs } from "../support/runs.ts";

const LIFE = 7 * DAY;
const HOUR = 3_600_000;
/**
 * The first number is the milliseconds that pass; before that, the clock is set back by the second
 * one.
 */
const passesAndSetsBack = fc.array(fc.tuple(fc.nat(3 * DAY), fc.nat(2 * DAY)), {
  minLength: 1,
  maxLength: 8,
});

describe("session cookie", () => {
  test("accepts the cookie whatever the clock says, within the bound", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: -400 * DAY, max: 400 * DAY }), fc.nat(HOUR)), {
          minLength: 1,
          maxLength: 10,
        }),
        async (readings) => {
          await using server = await startDashboard();
          const session = await signIn(server);
          let elapsed = 0;
          for (const [reading, passes] of readings) {
            server.clock.setTimeOfDay(START_TIME + reading);
            server.clock.increment(passes);
            elapsed += passes;
            // Its age may grow by a day per hour, in addition to the time that passes.
            if (25 * elapsed < LIFE) expect(await isSignedIn(server, session)).toBe(true);
          }
          const ahead = Math.max(...readings.map(([reading]) => reading), LIFE);
          server.clock.setTimeOfDay(START_TIME + ahead);
          server.clock.increment(7 * HOUR);
          expect(await isSignedIn(server, session)).toBe(false);
        },
      ),
      { numRuns: runs(20) },
    ));

  test("expires after 7 days even if the clock is set back", () =>
    fc.assert(
      fc.asyncProperty(passesAndSetsBack, async (steps) => {
        await using server = await startDashboard();
        const sessions: { begun: number; session: { cookie: string } }[] = [];
        let elapsed = 0;
        for (const [passes, back] of steps) {
          sessions.push({ begun: elapsed, session: await signIn(server) });
          server.clock.setTimeOfDay(server.clock.now() - back);
          server.clock.increment(passes);
          elapsed += passes;
          for (const { begun, session } of sessions) {
            if (elapsed - begun >= LIFE) expect(await isSignedIn(server, session)).toBe(false);
          }
        }
      }),
      { numRuns: runs(20) },
    ));

  test("rejects the cookie after any change of its bytes", async () => {
    await using server = await startDashboard();
    const { cookie } = await signIn(server);
    const start = cookie.indexOf("=") + 1;
    const [name, value] = [cookie.slice(0, start), cookie.slice(start)];
    const code = fc
      .integer({ min: 0x21, max: 0xff })
      .filter((each) => each !== 0x3b && each !== 0x7f);
    const byte = code.map((each) => String.fromCharCode(each));
    const edit = fc.record({
      at: fc.nat(value.length),
      byte,
      kind: fc.constantFrom("change", "insert", "remove", "escape", "case"),
    });
    const edited = ({ at, byte: by, kind }: { at: number; byte: string; kind: string }): string => {
      const [before, here, after] = [
        value.slice(0, at),
        value.slice(at, at + 1),
        value.slice(at + 1),
      ];
      if (kind === "change") return before + by + after;
      if (kind === "insert") return before + by + here + after;
      if (kind === "remove") return before + after;
      if (kind === "escape")
        return here === "" ? value : `${before}%${here.charCodeAt(0).toString(16)}${after}`;
      return (
        before + (here === here.toUpperCase() ? here.toLowerCase() : here.toUpperCase()) + after
      );
    };
    await fc.assert(
      fc.asyncProperty(edit, async (change) => {
        const other = edited(change);
        expect(await isSignedIn(server, { cookie: name + other })).toBe(other === value);
      }),
      { numRuns: runs(400) },
    );
  });

  test("ends at restart, sign-out and token replacement", () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.nat(5), { maxLength: 4 }),
        fc.constantFrom("restart", "replacement"),
        async (count, out, end) => {
          let sessions: { cookie: string }[] = [];
          {
            await using server = await startDashboard();
            sessions = await Promise.all(Array.from({ length: count }, () => signIn(server)));
            const alive = new Set(sessions.keys());
            for (const n of out.filter((each) => each < count)) {
              await server.post("/logout", undefined, sessions[n]!);
              alive.delete(n);
              for (const [at, session] of sessions.entries())
                expect(await isSignedIn(server, session)).toBe(alive.has(at));
            }
            if (end === "replacement") {
              await server.kernel.services.tokenSecrets.replace("launcher", {
                value: `${TOKEN}-next`,
                expect: 1,
              });
              for (const session of sessions) expect(await isSignedIn(server, session)).toBe(false);
            }
          }
          await using server = await startDashboard();
          for (const { cookie } of sessions) {
            const value = cookie.slice(cookie.indexOf("=") + 1);
            expect(
              await isSignedIn(server, { cookie: `service_session_${server.port}=${value}` }),
            ).toBe(false);
          }
        },
      ),
      { numRuns: runs(12) },
    ));
});
