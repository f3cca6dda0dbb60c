// Keeps SIGUSR1 from opening Node's debugger, which exposes the memory of this process.

const asksForInspector = (word: string): boolean => /^--inspect(?:-brk|-wait)?(?:=|$)/.test(word);

/** True if Node was started with `--inspect` or one of its variants. */
export const isInspected = (
  execArgv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean => [...execArgv, ...(env["NODE_OPTIONS"] ?? "").split(/[\s"]+/)].some(asksForInspector);

/** Ignores SIGUSR1, unless Node was started with `--inspect`. Node opens the debugger only if the
 *  signal has no listener; Node 20 does not have `--disable-sigusr1`. */
export function refuseInspector(): void {
  if (!isInspected(process.execArgv, process.env)) process.on("SIGUSR1", () => undefined);
}
