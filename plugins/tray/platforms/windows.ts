import type { TrayBackend, TrayBackendOptions } from "../view.ts";
import { openScript, scriptFile } from "./script.ts";

/** The notification area of Windows, by what the system ships. By its full name: Windows looks for programs in the
 *  current folder first. */
export function openWindows(options: TrayBackendOptions): Promise<TrayBackend> {
  const root = options.env["SystemRoot"] ?? String.raw`C:\Windows`;
  const shell = String.raw`${root}\System32\WindowsPowerShell\v1.0\powershell.exe`;
  const words = [
    "-NoProfile",
    "-STA",
    "-ExecutionPolicy",
    "Bypass",
    "-File",
    scriptFile("notification-area.ps1"),
  ];
  return openScript({ command: [shell, ...words], iconSize: 32 }, options);
}
