// Checks a request to `/keys`: the channel with named keys instead of the channel token.
import type { KeyIdentity, Keys } from "../../keys/index.ts";
import { AdmissionControl, type Admission } from "./admission.ts";
import { toKeyHolder } from "./identity.ts";
import type { Rejection } from "./rejection.ts";
import {
  readCredentials,
  type HandshakeRequest,
  type OfferedCredentials,
  type OfferedToken,
} from "./request.ts";

const wrongKey: Rejection = {
  code: "token_mismatch",
  message: "The key is wrong, or it was revoked or replaced.",
};
const expiredKey: Rejection = { code: "token_mismatch", message: "The key has expired." };
const otherProtocol: Rejection = {
  code: "not_allowed",
  message: 'This key may not be used for the protocol "keys".',
};

export class KeyAdmissionControl extends AdmissionControl {
  private readonly keys: Keys;

  constructor(options: ConstructorParameters<typeof AdmissionControl>[0], keys: Keys) {
    super(options);
    this.keys = keys;
  }

  /** A key in the URL would stay in logs and histories, so it never counts. */
  override credentials(handshakeRequest: HandshakeRequest): OfferedCredentials {
    return readCredentials(handshakeRequest, false);
  }

  override isServing(): Rejection | undefined {
    if (!this.keys.isInUse()) return { code: "not_found" };
    const rejection = super.isServing();
    return rejection?.code === "token_not_configured" ? undefined : rejection;
  }

  override expired({ isCurrent }: Admission): Rejection | undefined {
    return this.isServing() ?? (isCurrent() ? undefined : wrongKey);
  }

  override async admit(
    handshakeRequest: HandshakeRequest,
    { tokens, duplicateTokens }: OfferedCredentials,
  ): Promise<Admission | Rejection> {
    const { http } = this.options;
    const { request, peer } = handshakeRequest;
    if (this.isOnDashboard(handshakeRequest) && this.hasOwnListener()) return { code: "not_found" };
    if (!this.allowsOrigin(handshakeRequest)) return { code: "origin_not_allowed" };
    const [first] = tokens;
    if (first === undefined) return { code: "token_missing" };
    if (duplicateTokens !== undefined || tokens.length > 1)
      return { code: "bad_handshake", message: "Send the key once, in one way." };
    const { method } = first;
    if ("rejection" in first) return { code: first.rejection, method };
    const verdict = await this.keys.admit(first.undecodable ? "" : first.value, peer);
    if (verdict.outcome === "limited")
      return { code: "rate_limited", method, retryAfterSeconds: verdict.retryAfterSeconds };
    if (verdict.outcome === "expired") return { ...expiredKey, method };
    if (verdict.outcome === "mismatch") {
      const { counted } = verdict;
      return { ...wrongKey, method, ...(counted !== undefined && { counted }) };
    }
    const { identity } = verdict;
    if (!identity.protocols.has("keys")) return { ...otherProtocol, user: `key:${identity.id}` };
    http.markAuthenticated(request);
    return this.toKeyAdmission(identity, first);
  }

  /** A method of its own, so that no closure of a connection holds the secret. */
  private toKeyAdmission(identity: KeyIdentity, { method, echo }: OfferedToken): Admission {
    const { log } = this.options;
    return {
      ...toKeyHolder(identity, log),
      method,
      version: undefined,
      identity,
      via: "keys",
      echo,
      isCurrent: () => identity.isCurrent(),
    };
  }
}
