// Checks that no client can send the header in which the proxy names the person.
import type { ProbeFacts } from "../../../plugins/dashboard/index.ts";
import { nameOf, wayCheck } from "./reporter.ts";
import { askProbe, jsonOf } from "./way.ts";

const forged = "forged-user";

/** The header of `launcher.proxy_sign_in` arrives from no client. */
export const proxyHeaderCheck = wayCheck(
  "public-proxy-header",
  "Only the proxy names who signs in",
  async (own, way, { proxy, fix }) => {
    const { proxySignIn } = way.grant;
    if (!proxySignIn) return undefined;
    const header = proxySignIn.header.toLowerCase();
    const secretHeader = proxySignIn.secretHeader.toLowerCase();
    const arrived: string[] = [];
    const signedIn: string[] = [];
    let asked = 0;
    for (const path of [...Object.values(way.grant.paths), ...proxySignIn.paths]) {
      const answer = await askProbe(way, { action: "facts", path, headers: { [header]: forged } });
      if (!answer.isProven) continue;
      asked += 1;
      const { headers = {} } = jsonOf<ProbeFacts>(answer);
      if (!(headers[header] ?? "").includes(forged)) continue;
      arrived.push(path);
      if (headers[secretHeader] !== undefined) signedIn.push(path);
    }
    if (signedIn.length > 0)
      return own.failed(
        `Any client can sign in: ${nameOf(proxy)} adds its secret to the ${proxySignIn.header} ` +
          `of a client, at ${signedIn.join(", ")}.`,
        fix("proxyHeader"),
      );
    if (arrived.length > 0)
      return own.warning(
        `${nameOf(proxy)} forwards the ${proxySignIn.header} of a client, at ` +
          `${arrived.join(", ")}. It counts only with the secret of the proxy.`,
        fix("proxyHeader"),
      );
    return own.ok(`${proxySignIn.header} of a client arrived at none of ${asked} paths.`);
  },
);
