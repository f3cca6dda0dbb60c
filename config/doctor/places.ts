/** Where a token stands, in words; its source is the label that logs and the API use. */
export function describeTokenSource(token: string, source: string): string {
  const file = token === "launcher" ? "launcher-config.json" : "config.json";
  const words: Readonly<Record<string, string>> = {
    env: "the environment",
    security: ".security.yml",
    config: file,
    random: file,
    host: "the host application",
    none: "nowhere",
  };
  return words[source] ?? source;
}
