// Measures how long a page keeps its browser busy at a time.
import type { Page } from "playwright-core";
import { isBrief } from "./runs.ts";

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the processor. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

const categories = ["toplevel", "__metadata"];
const taskName = "ThreadControllerImpl::RunTask";

/** Longer tasks are noticed. The tests of .ci/run share the caches of two cores with others. */
export const maxTaskMs = isBrief ? 150 : 100;

/** How much slower the processor of the reader is. */
const slower = 4;

/**
 * Acts on a page.
 *
 * @returns The longest task of the page in milliseconds of a four times slower processor, so that
 * other processes of the machine hardly count. The browser's own throttling would count them, because
 * it waits for a multiple of the elapsed time.
 */
export async function longestTask(page: Page, act: () => Promise<void>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]));
  });
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: categories, excludedCategories: ["*"] },
  });
  await act();
  const complete = new Promise<void>((resolve) => {
    session.once("Tracing.tracingComplete", () => resolve());
  });
  await session.send("Tracing.end");
  await complete;
  await session.detach();
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const main = events
    .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
    .map(threadOf);
  const tasks = events.filter((one) => one.name === taskName && main.includes(threadOf(one)));
  if (tasks.length === 0) throw new Error("The trace contains no task of the page.");
  return (slower * Math.max(...tasks.map(({ tdur = 0 }) => tdur))) / 1_000;
}

/** A garbage collection or the first compilation of a function does not happen each time. */
const attempts = 4;

/** Acts until the longest task is shorter than `maxMs`. @returns The shortest of all attempts. */
export async function usualTask(
  page: Page,
  maxMs: number,
  act: () => Promise<void>,
): Promise<number> {
  let shortest = Infinity;
  for (let at = 0; at < attempts && shortest >= maxMs; at++)
    shortest = Math.min(shortest, await longestTask(page, act));
  return shortest;
}
