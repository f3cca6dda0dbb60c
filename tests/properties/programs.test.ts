import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAlive, startProgram, waitFor } from "../support/program-harness.ts";
import { runs } from "../support/runs.ts";

// Runs real programs with random schedules: they answer, reject or acknowledge each message, or
// exit while they handle it.

const behaviour = fc.constantFrom(
  "answer",
  "late",
  "ack",
  "stream",
  "refuse",
  "note",
  "crash",
  "ack and crash",
);
const job = fc.record({ session: fc.constantFrom("a", "b", "c"), behaviour });

/**
 * Handles a message as its text says. A grandchild of each process shows whether all processes end.
 */
const program = `
console.error("pid " + process.pid);
each((m) => {
  const behaviour = m.payload.content.split(" ")[0];
  const ack = (more) => say({ type: "message.ack", payload: { request_id: m.id, ...more } });
  const done = (text) => answer(m, m.payload.content);
  if (behaviour === "answer") done();
  if (behaviour === "late") setTimeout(done, 3);
  if (behaviour === "ack") { ack(); setTimeout(done, 3); }
  if (behaviour === "stream") {
    answer(m, "…", { message_id: m.id, final: false });
    setTimeout(() => say({ type: "message.update", payload:
      { message_id: m.id, content: m.payload.content, final: true } }), 3);
  }
  if (behaviour === "refuse") say({ type: "error", payload: { request_id: m.id, message: "no" } });
  if (behaviour === "note") ack({ final: true });
  if (behaviour === "crash") process.exit(1);
  if (behaviour === "ack and crash") process.stdout.write(JSON.stringify(
    { type: "message.ack", payload: { request_id: m.id } }) + "\\n", () => process.exit(1));
});`;

describe("program", () => {
  test("settles each message once, in order, and leaves no process", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(job, { minLength: 1, maxLength: 14 }), async (jobs) => {
        const pids = new Set<number>();
        {
          await using testServer = await startProgram(program, { timeoutS: 20 });
          const ends = jobs.map(({ session, behaviour: what }, at) => {
            const id = `job-${at}`;
            return testServer.say(`${what} ${at}`, session, id).then(
              () => "accepted",
              (error: { code: string }) => error.code,
            );
          });
          const outcomes = await Promise.all(ends);
          await waitFor(() => testServer.status().inWork === 0 && testServer.status().queued === 0);
          const { answered, failed } = testServer.status();
          expect(answered + failed).toBe(jobs.length);

          const failedLater = testServer.failures.waiting.map(({ id }) => id);
          expect(new Set(failedLater).size).toBe(failedLater.length);
          expect(outcomes.filter((end) => end !== "accepted").length + failedLater.length).toBe(
            failed,
          );
          const shown = testServer.seen.waiting.filter(({ what, message }) =>
            what === "update" ? message?.final === true : message?.final !== false,
          );
          const answers = shown
            .map(({ message }) => message!.content)
            .filter((text) => / \d+$/.test(text));
          expect(new Set(answers).size).toBe(answers.length);
          for (const session of ["a", "b", "c"]) {
            // Later messages may overtake acknowledged ones. The rest is answered in order.
            const mine = answers.filter(
              (text) => jobs[Number(text.split(" ").at(-1))]!.session === session,
            );
            const order = mine
              .filter((text) => !text.startsWith("ack"))
              .map((text) => Number(text.split(" ").at(-1)));
            expect(order).toEqual([...order].sort((left, right) => left - right));
          }
          for (const [at, { behaviour: what }] of jobs.entries()) {
            const isAnswered = answers.includes(`${what} ${at}`);
            const hasFailed = outcomes[at] !== "accepted" || failedLater.includes(`job-${at}`);
            expect([isAnswered && hasFailed, isAnswered || hasFailed || what === "note"]).toEqual([
              false,
              true,
            ]);
          }
          for (const { text } of testServer.lines)
            if (text.startsWith("pid ")) pids.add(Number(text.slice(4)));
        }
        expect([...pids].filter(isAlive)).toEqual([]);
      }),
      { numRuns: runs(8), endOnFailure: true },
    );
  }, 120_000);
});
