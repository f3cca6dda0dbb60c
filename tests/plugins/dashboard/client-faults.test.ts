// Tests that client errors cause one log line per address and minute, and never a stack trace.
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { startDashboard, type DashboardServer } from "../../support/dashboard-server.ts";

const head = (path: string, type: string, length: number): string =>
  [
    `POST ${path} HTTP/1.1`,
    "Host: localhost",
    `Content-Type: ${type}`,
    `Content-Length: ${length}`,
    "",
    "",
  ].join("\r\n");

/** Sends the beginning of a request and disconnects when the server has logged it. */
async function abort(server: DashboardServer, path: string, type: string): Promise<void> {
  const faults = (): number => server.kernel.services.http.clientFaults()["aborted_request"] ?? 0;
  const before = faults();
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(`${head(path, type, 1_000)}{"to`, () => socket.end());
  await expect.poll(faults).toBe(before + 1);
  socket.destroy();
}

const form = "application/x-www-form-urlencoded";

describe("POST /login", () => {
  test("logs aborted bodies once per address and minute, without a stack", async () => {
    await using server = await startDashboard();
    for (let n = 0; n < 10; n += 1)
      await abort(server, "/login", n % 2 ? form : "application/json");
    const lines = () => server.lines.filter((line) => line["reason"] === "aborted_request");
    expect(lines()).toEqual([expect.objectContaining({ level: "info", ip: "127.0.0.1" })]);
    expect(server.lines.filter(({ level }) => level === "error")).toEqual([]);
    server.clock.increment(60_000);
    expect(lines().slice(1)).toEqual([expect.objectContaining({ repeated: 9 })]);
  });
});

describe("guard", () => {
  test("logs a rejected Host header once per address and minute", async () => {
    await using server = await startDashboard();
    for (let n = 0; n < 5; n += 1) await server.get("/", { host: "evil.example" });
    const lines = server.lines.filter((line) => line["reason"] === "host_not_allowed");
    expect(lines).toEqual([expect.objectContaining({ level: "warn", host: "evil.example" })]);
  });

  test("logs a rejected Origin header once per address and minute", async () => {
    await using server = await startDashboard();
    const headers = { origin: "https://evil.example" };
    for (let n = 0; n < 5; n += 1) await server.post("/login", { token: "x" }, headers);
    const lines = server.lines.filter((line) => line["reason"] === "origin_not_allowed");
    expect(lines).toEqual([expect.objectContaining({ origin: "https://evil.example" })]);
  });
});
