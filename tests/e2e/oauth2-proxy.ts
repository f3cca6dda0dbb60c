// Starts oauth2-proxy, or a server that answers like it where the program is not installed.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findExecutables } from "../support/tools.ts";
import { freePort } from "./free-port.ts";

const program = process.env["TEST_OAUTH2_PROXY"] || findExecutables("oauth2-proxy")[0];

const password = "open sesame";

export interface Oauth2Proxy extends AsyncDisposable {
  readonly port: number;
  /** Signs a person in through a proxy, and returns the cookie. */
  cookie(proxy: URL, user: string): Promise<string>;
}

export const startOauth2Proxy = (): Promise<Oauth2Proxy> =>
  program === undefined ? startLikeness() : startReal(program);

/** Sends the form of the sign-in page. */
async function signIn(proxy: URL, username: string): Promise<string> {
  const response = await fetch(new URL("/oauth2/sign_in", proxy), {
    method: "POST",
    body: new URLSearchParams({ username, password, rd: "/" }),
    redirect: "manual",
  });
  const [cookie = ""] = response.headers.getSetCookie();
  return cookie.split(";", 1)[0]!;
}

async function startReal(path: string): Promise<Oauth2Proxy> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-oauth2-"));
  const port = await freePort();
  const digest = createHash("sha1").update(password).digest("base64");
  const users = join(folder, "users");
  await writeFile(users, `ann:{SHA}${digest}\neve:{SHA}${digest}\n`);
  const child = spawn(
    path,
    [
      ...["--http-address", `127.0.0.1:${port}`],
      ...["--provider", "github", "--client-id", "id", "--client-secret", "secret"],
      ...["--cookie-secret", "0123456789abcdef0123456789abcdef", "--cookie-secure=false"],
      ...["--reverse-proxy", "--trusted-proxy-ip", "127.0.0.1", "--set-xauthrequest"],
      ...["--email-domain", "*", "--upstream", "static://202", "--htpasswd-file", users],
    ],
    { stdio: "ignore" },
  );
  const ended = once(child, "close");
  while (child.exitCode === null && !(await isReady(port)));
  return {
    port,
    cookie: signIn,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/ping`).then(
    ({ ok }) => ok,
    () => false,
  );

/** The answers of version 7.15.6: 202 with X-Auth-Request-User, or 401; the form sets a cookie. */
async function startLikeness(): Promise<Oauth2Proxy> {
  const server = createServer(async (request, response) => {
    if (request.method === "POST") {
      let body = "";
      for await (const part of request) body += String(part);
      const user = new URLSearchParams(body).get("username") ?? "";
      const cookie = `_oauth2_proxy=${user}; Path=/; HttpOnly`;
      response.writeHead(302, { location: "/", "set-cookie": cookie }).end();
      return;
    }
    const user = /_oauth2_proxy=(\w+)/.exec(request.headers.cookie ?? "")?.[1];
    if (user === undefined) response.writeHead(401).end("Unauthorized\n");
    else response.writeHead(202, { "x-auth-request-user": user }).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    cookie: signIn,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
