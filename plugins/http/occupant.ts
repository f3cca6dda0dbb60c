import { get } from "node:http";

const probeTimeoutMs = 1_000;

/** Who holds a port, as far as one quick question tells: " (by a launcher that is already running)", or nothing. */
export function describePortOwner(port: number, host = "127.0.0.1"): Promise<string> {
  return new Promise((resolve) => {
    const unknown = (): void => resolve("");
    const question = {
      host,
      port,
      path: "/healthz",
      agent: false,
      signal: AbortSignal.timeout(probeTimeoutMs),
    };
    const asked = get(question, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        text = `${text}${part}`.slice(0, 100);
      });
      answer.on("error", unknown).on("end", () => {
        const isOurs =
          text.startsWith('{"status":"ok"') && answer.headers["referrer-policy"] === "no-referrer";
        resolve(isOurs ? " (by a launcher that is already running)" : "");
      });
    });
    asked.on("error", unknown);
  });
}
