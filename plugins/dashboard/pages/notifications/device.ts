/** Whether this device can receive notifications, and turning them on and off. @module */
import type { NotificationsView } from "../../shared/notification-views.ts";
import type { ApiResult } from "../live/api.ts";
import { requestAsOwner } from "../live/owner.ts";
import { registerWorker } from "../live/worker.ts";

/**
 * The thing that is missing on this device, before it is asked. `ready`: it can be turned on. `on`:
 * the server knows its subscription.
 */
export type DeviceState =
  | "checking"
  | "private-host"
  | "insecure"
  | "home-screen"
  | "unsupported"
  | "blocked"
  | "ready"
  | "on";

/** Safari on iPhones and iPads, which have these functions only on the Home Screen. */
const isIos = (): boolean =>
  /iPhone|iPad|iPod/.test(navigator.userAgent) ||
  (navigator.userAgent.includes("Macintosh") && navigator.maxTouchPoints > 1);

const isInstalled = (): boolean => matchMedia("(display-mode: standalone)").matches;

/** @returns What is missing; undefined if only the subscription of the device is. */
export function missingHere(isPrivateHost: boolean): DeviceState | undefined {
  if (isPrivateHost) return "private-host";
  if (!isSecureContext) return "insecure";
  if (isIos() && !isInstalled()) return "home-screen";
  const isSupported =
    "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  if (!isSupported) return "unsupported";
  return Notification.permission === "denied" ? "blocked" : undefined;
}

/** The id that the server gives the subscription of this browser; undefined without one. */
export async function ownDevice(): Promise<string | undefined> {
  const registration = await registerWorker()?.catch(() => undefined);
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return undefined;
  const bytes = new TextEncoder().encode(subscription.endpoint);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const base64 = btoa(String.fromCharCode(...digest));
  return base64.replaceAll("+", "-").replaceAll("/", "_").slice(0, 22);
}

const toBytes = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64.replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
    letter.charCodeAt(0),
  );

/**
 * Asks for the permission and passes the subscription to the server. Call it in a tap.
 *
 * @returns Why it did not work, for the person; undefined if it did.
 */
export async function turnOn({ key }: NotificationsView): Promise<string | undefined> {
  const permission = await Notification.requestPermission();
  if (permission !== "granted") return "You have not allowed notifications.";
  try {
    const registration = await registerWorker();
    const manager = registration?.pushManager;
    if (!manager) return "This browser has no notifications at this address.";
    // One that was made for another key would receive nothing.
    await (await manager.getSubscription())?.unsubscribe();
    const subscription = await manager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: toBytes(key),
    });
    const sent = await sendSubscription(subscription);
    if (!("error" in sent)) return undefined;
    await subscription.unsubscribe();
    return sent.error.message;
  } catch (error) {
    return `The browser has refused: ${(error as Error).message}`;
  }
}

/** @param renew - Passes a device that the server knows to this sign-in, and adds none. */
const sendSubscription = (
  subscription: PushSubscription,
  renew = false,
): Promise<ApiResult<object>> =>
  requestAsOwner("POST", "/api/x/push/subscriptions", {
    ...subscription.toJSON(),
    ...(renew && { renew }),
  });

/** Gives the device its buttons again after its sign-in has expired. */
export async function renewDevice(): Promise<void> {
  const registration = await registerWorker()?.catch(() => undefined);
  const subscription = await registration?.pushManager.getSubscription();
  if (subscription) await sendSubscription(subscription, true);
}

/** Ends the subscription here and on the server. */
export async function turnOff(id: string): Promise<ApiResult<object>> {
  const registration = await registerWorker()?.catch(() => undefined);
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  return removeDevice(id);
}

/** Ends the subscription of a device on the server. */
export const removeDevice = (id: string): Promise<ApiResult<object>> =>
  requestAsOwner("DELETE", `/api/x/push/subscriptions/${id}`);
