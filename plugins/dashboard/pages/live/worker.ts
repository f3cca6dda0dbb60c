/** Registers the worker of the installed page. @module */
import { base } from "./base.ts";

interface TrustedPolicy {
  createScriptURL(text: string): string;
}
interface TrustedTypes {
  createPolicy(name: string, rules: TrustedPolicy): TrustedPolicy;
}

let registered: Promise<ServiceWorkerRegistration> | undefined;

/**
 * Registers the worker, once for each page. The policy of the page permits one script: a policy of
 * this name that accepts no other address.
 *
 * @returns Undefined if the browser has no workers at this address, for example without https.
 */
export function registerWorker(): Promise<ServiceWorkerRegistration> | undefined {
  if (!("serviceWorker" in navigator)) return undefined;
  registered ??= navigator.serviceWorker.register(scriptAddress(), { updateViaCache: "none" });
  return registered;
}

function scriptAddress(): string {
  const address = `${base()}/sw.js`;
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  if (!trustedTypes) return address;
  const rules: TrustedPolicy = {
    createScriptURL(text) {
      if (text !== address) throw new TypeError("the only script of a worker is sw.js");
      return text;
    },
  };
  return trustedTypes.createPolicy("doorward-worker", rules).createScriptURL(address);
}
