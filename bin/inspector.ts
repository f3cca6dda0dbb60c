// Keeps SIGUSR1 from opening Node's debugger, which gives local users the memory of this process.

const asksForInspector = (word: string): boolean => /^--inspect(?:-brk|-wait)?(?:=|$)/.test(word);

/** Whether Node was started to be debugged. */
export const isInspected = (
  execArgv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean => [...execArgv, ...(env["NODE_OPTIONS"] ?? "").split(/[\s"]+/)].some(asksForInspector);

/** Keeps SIGUSR1 from opening the debugger for the life of this process, unless Node was started to
 *  be debugged. Node opens it only where nothing listens to the signal; Node 20 does not know
 *  `--disable-sigusr1`. */
export function refuseInspector(): void {
  if (!isInspected(process.execArgv, process.env)) process.on("SIGUSR1", () => undefined);
}
