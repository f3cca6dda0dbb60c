// Sends a request to stop.
import { authorization } from "./harness.ts";

export async function stopWith(path: string, body: object): Promise<unknown> {
  const headers = { ...authorization, "Content-Type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}
