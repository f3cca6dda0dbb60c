// Checks the service unit and the files for containers in docs/deploy. .ci/image.mjs builds the
// image and runs it.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { read } from "./source.ts";

describe("docs/deploy/doorward.service", () => {
  test("turns core dumps off", () => {
    const [, service = ""] = read("docs/deploy/doorward.service").split("[Service]");
    expect(service.split("[Install]")[0]).toMatch(/^LimitCORE=0$/m);
  });
});

describe("docs/deploy/Dockerfile", () => {
  const [, json = "[]"] = /^ENTRYPOINT (.*)$/m.exec(read("docs/deploy/Dockerfile")) ?? [];
  const [command = "", ...words] = JSON.parse(json) as string[];

  test("runs the program without core dumps, with the arguments of the container", () => {
    const script = words[1] ?? "";
    expect([command, words[0], script]).toEqual([
      "/bin/sh",
      "-c",
      expect.stringContaining("exec node dist/bin/doorward.js -no-browser"),
    ]);
    if (!existsSync(command)) return;
    // The same script, with a program that prints the core limit and its arguments.
    const shown = script.replace(/exec .*doorward\.js/, "ulimit -c; exec echo");
    const { stdout } = spawnSync(command, ["-c", shown, ...words.slice(2), "-debug", "a b"]);
    expect(String(stdout)).toBe("0\n-no-browser -debug a b\n");
  });
});

describe("stages of docs/deploy/Dockerfile", () => {
  const [, build = "", image = ""] = read("docs/deploy/Dockerfile").split(/^FROM /m);

  test("build once on the platform of the builder, for all processors", () => {
    expect(build).toMatch(/^--platform=\$BUILDPLATFORM /);
    expect(image).toMatch(/^\$NODE_IMAGE$/m);
    // An emulator would run these.
    expect(image.match(/^RUN .*$/gm)).toEqual(["RUN install -d -m 0700 -o 1000 -g 1000 /data"]);
  });
});

describe("docs/deploy/compose.yml", () => {
  const compose = (name: string) => parse(read(`docs/deploy/${name}`)) as Compose;
  const { doorward } = compose("compose.yml").services;

  test("runs the image without privileges and with a read-only root", () => {
    expect(doorward).toMatchObject({
      read_only: true,
      init: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
      ulimits: { core: 0 },
      volumes: ["doorward:/data"],
      build: { context: "../..", dockerfile: "docs/deploy/Dockerfile" },
    });
  });

  test.each(["compose.yml", "compose.open-webui.yml"])("%s publishes on loopback only", (name) => {
    const ports = Object.values(compose(name).services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
  });

  test("contains no token", () => {
    const { services } = compose("compose.open-webui.yml");
    expect(services["doorward"]!.environment).toMatchObject({
      SERVICE_CHANNELS_OPENAI_TOKEN: "${OPENAI_TOKEN:?see the first lines of this file}",
    });
    expect(services["open-webui"]!.environment).toMatchObject({
      OPENAI_API_KEY: "${OPENAI_TOKEN}",
    });
  });
});

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly ports?: readonly string[]; readonly environment?: object }>
  >;
}

describe(".dockerignore", () => {
  test("allows every folder that the build needs, and no tests", () => {
    const allowed = read(".dockerignore").match(/^!.+$/gm)!;
    const needed = ["bin", "config", "kernel", "lib", "plugins", "scripts", "docs", "package.json"];
    expect(allowed).toEqual(expect.arrayContaining(needed.map((name) => `!${name}`)));
    expect(allowed).not.toContain("!tests");
  });
});
