// Measures how long a page keeps its browser busy at a time.
import type { Page } from "playwright-core";

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

/**
 * Acts on a page at a four times slower processor.
 *
 * @returns The longest task of the page in milliseconds of its processor, so that other processes of
 * the machine hardly count.
 */
export async function longestTask(page: Page, act: () => Promise<void>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]));
  });
  await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
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
  await session.send("Emulation.setCPUThrottlingRate", { rate: 1 });
  await session.detach();
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const main = events
    .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
    .map(threadOf);
  const tasks = events.filter((one) => one.name === taskName && main.includes(threadOf(one)));
  if (tasks.length === 0) throw new Error("The trace contains no task of the page.");
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
}
