// Checks the streams of many random replies against the verifiers of the clients.
import { test } from "vitest";
import { isInstalled as hasAgUi } from "../plugins/protocols/ag-ui/harness.ts";
import { checkRandomRuns } from "../plugins/protocols/ag-ui/random-runs.ts";
import {
  isInstalled as hasAiSdk,
  loadLibrary,
  versions,
} from "../plugins/protocols/ai-sdk/harness.ts";
import { checkRandomStreams } from "../plugins/protocols/ai-sdk/random-streams.ts";

test.skipIf(!hasAgUi)("sends 1,000 AG-UI runs without a violation", () =>
  checkRandomRuns({ count: 1_000, seed: Date.now() % 1_000_000 }),
);

test.skipIf(!hasAiSdk)("ends 1,000 AI SDK streams clearly", async () => {
  const libraries = await Promise.all(versions.map(loadLibrary));
  await checkRandomStreams(libraries, { count: 1_000, seed: Date.now() % 1_000_000 });
});
