// The replies of INFO of Redis and Valkey.
import { describe, expect, test } from "vitest";
import { assertServer, nameOf, parseInfo } from "../../../plugins/redis/server-info.ts";

const redis = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n";
const valkey =
  "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\nserver_mode:standalone\r\n";

describe("assertServer", () => {
  test.each([redis, valkey])("accepts a single server, and rejects a cluster", (text) => {
    expect(() => assertServer(parseInfo(text))).not.toThrow();
    const cluster = parseInfo(text.replace("standalone", "cluster"));
    expect(() => assertServer(cluster)).toThrow(expect.objectContaining({ code: "REDIS_CLUSTER" }));
  });
});

describe("nameOf", () => {
  test("names the server with its own version", () => {
    expect(nameOf(parseInfo(redis))).toBe("Redis 7.0.15");
    expect(nameOf(parseInfo(valkey))).toBe("Valkey 8.1.1");
  });
});
