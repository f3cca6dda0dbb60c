// Notifications as pages see them.

/** A device that receives notifications. */
export interface DeviceView {
  readonly id: string;
  readonly userAgent: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** False after its sign-in has expired: it receives notifications without buttons. */
  readonly hasButtons: boolean;
  /** When it last received one. */
  readonly lastAt?: number;
  /** Why the last one did not reach it. */
  readonly problem?: string;
}

/** Body of `GET /api/x/push/state`. */
export interface NotificationsView {
  /** Public key for `applicationServerKey`. */
  readonly key: string;
  readonly devices: readonly DeviceView[];
}

/** Result of a test. */
export interface TestSent {
  readonly outcome: "sent" | "gone" | "failed" | "limited";
  readonly problem?: string;
}
