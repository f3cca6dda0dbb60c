import type { TrayBackend, TrayBackendOptions } from "../service.ts";

/** The tray of this platform. Rejects with a sentence's end that says why there is none. */
export async function openBackend({
  platform,
  ...options
}: TrayBackendOptions & { platform: NodeJS.Platform }): Promise<TrayBackend> {
  if (platform === "darwin") return (await import("./script.ts")).openMacos(options);
  if (platform === "win32") return (await import("./script.ts")).openWindows(options);
  return (await import("./linux.ts")).openLinux(options);
}
