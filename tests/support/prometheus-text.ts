/* The text exposition format of Prometheus 0.0.4, read as strictly as its grammar allows. */

export type Scrape = ReadonlyMap<string, number>;

const name = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const helpLine = new RegExp(String.raw`^# HELP (${name}) (?:[^\\\n]|\\[\\n])+$`);
const typeLine = new RegExp(`^# TYPE (${name}) (counter|gauge|histogram|summary|untyped)$`);
const sampleLine = new RegExp(
  String.raw`^(${name})(\{${label}(?:,${label})*\})? ([-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|Nan|NaN)$`,
);

/** Every sample by its name and labels as written; throws at the first line that is not the format's. */
export function readExposition(text: string): Scrape {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  const closed = new Set<string>();
  let family = "";
  const enter = (next: string): void => {
    if (next === family) return;
    if (closed.has(next)) throw new Error(`${next} stands at two places`);
    closed.add(next);
    family = next;
  };
  for (const line of text.split("\n").slice(0, -1)) {
    if (line === "") continue;
    const [, helped] = helpLine.exec(line) ?? [];
    const [, typed, type] = typeLine.exec(line) ?? [];
    if (helped !== undefined) enter(helped);
    else if (typed !== undefined && type !== undefined) {
      if (typed !== family || types.has(typed))
        throw new Error(`the type of ${typed} is not where it belongs`);
      types.set(typed, type);
    } else {
      const [, sampled = "", labels = "", value] = sampleLine.exec(line) ?? [];
      if (value === undefined) throw new Error(`not a line of the format: ${line}`);
      const own =
        types.get(family) === "histogram" ? sampled.replace(/_(bucket|sum|count)$/, "") : sampled;
      if (own !== family || !types.has(own)) throw new Error(`${sampled} has no type before it`);
      if (types.get(own) === "counter" && !own.endsWith("_total"))
        throw new Error(`the counter ${own} is not a total`);
      if (samples.has(sampled + labels)) throw new Error(`${sampled}${labels} is there twice`);
      samples.set(sampled + labels, Number(value));
    }
  }
  return samples;
}
