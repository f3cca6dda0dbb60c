export type DashboardEvents = {
  /** `signIn` is 8 hex digits of the session id's digest, never the id. */
  "dashboard:signed-in": {
    signIn: string;
    address: string;
    via: "form" | "link" | "query" | "setup" | "host";
  };
  "dashboard:sign-in-refused": { code: string; address: string; via: string };
  "dashboard:signed-out": {
    signIn: string;
    reason: "sign-out" | "revoked" | "expired" | "evicted" | "rotated" | "replaced" | "maker-ended";
  };
};
