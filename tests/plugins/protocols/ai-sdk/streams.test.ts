// Reads the streams of random replies.
import { expect, test } from "vitest";
import { checkRandomStreams } from "./random-streams.ts";
import { loadLibrary, isInstalled, versions } from "./harness.ts";

test.skipIf(!isInstalled)(
  "fits the schemas of both versions, and ends every stream clearly",
  async () => {
    const libraries = await Promise.all(versions.map(loadLibrary));
    expect(libraries).toHaveLength(2);
    await checkRandomStreams(libraries, { count: 100, seed: 7 });
  },
);
