// Labels of browsers and other clients.

const browsers: readonly (readonly [RegExp, string])[] = [
  [/Edg\/(\d+)/, "Edge"],
  [/OPR\/(\d+)/, "Opera"],
  [/Firefox\/(\d+)/, "Firefox"],
  [/Chrom\w{0,16}\/(\d+)/, "Chrome"],
  [/Version\/(\d{1,9}).{0,40}Safari/, "Safari"],
  [/curl\/([\d.]+)/, "curl"],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];

/** Returns `Firefox 140 on Linux`, or the start of an unknown user agent. */
export function browserLabel(userAgent: string): string {
  const system = systems.find(([pattern]) => pattern.test(userAgent))?.[1];
  for (const [pattern, name] of browsers) {
    const version = pattern.exec(userAgent)?.[1];
    if (version !== undefined)
      return `${name} ${version}${system === undefined ? "" : ` on ${system}`}`;
  }
  return userAgent.slice(0, 60);
}
