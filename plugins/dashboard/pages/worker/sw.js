// The worker of the installed page: shows notifications, and sends the answers of their buttons.
// It has no `fetch` handler and opens no cache, so it keeps nothing that a sign-in protects.

const inScope = (path) => new URL(path, self.registration.scope).href;
const productName = "Doorward";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  const { notification, d = {} } = event.data.json();
  event.waitUntil(
    self.registration.showNotification(notification.title, {
      body: notification.body,
      tag: notification.tag,
      icon: inScope("icon-192.png"),
      data: { navigate: notification.navigate, ticket: d.ticket },
      actions: d.actions ?? [],
      requireInteraction: d.actions !== undefined,
      // A newer state of the same question makes no second sound.
      silent: d.isUpdate === true,
    }),
  );
});

self.addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  notification.close();
  event.waitUntil(
    action === "" || action === "open" ? openPage(notification) : answerByButton(event),
  );
});

/** Shows the page that the notification is about, in a tab that has it already if there is one. */
async function openPage({ data }) {
  const { navigate = inScope("chat") } = data ?? {};
  const url = navigate.startsWith(self.registration.scope) ? navigate : inScope("chat");
  const tabs = await self.clients.matchAll({ type: "window" });
  const tab = tabs.find((each) => each.url === url);
  await (tab ? tab.focus() : self.clients.openWindow(url));
}

/** Sends the answer with its ticket alone: without a cookie, so it needs no sign-in. */
async function answerByButton({ notification, action }) {
  const { ticket, navigate } = notification.data;
  const text = await sendAnswer({ ticket, option: action });
  await self.registration.showNotification(productName, {
    body: text ?? "Your answer was not sent. Tap to open the question.",
    tag: notification.tag,
    icon: inScope("icon-192.png"),
    data: { navigate },
  });
}

async function sendAnswer(body) {
  try {
    const response = await fetch(inScope("push/answer"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      credentials: "omit",
    });
    return (await response.json()).text;
  } catch {
    return undefined; // no connection
  }
}

// The browser has replaced the subscription, so the server needs the new address.
self.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(renew(event.oldSubscription, event.newSubscription));
});

async function renew(old, given) {
  if (!old && !given) return;
  const next = given ?? (await self.registration.pushManager.subscribe(old.options));
  await fetch(inScope("api/x/push/subscriptions"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...next.toJSON(), replaces: old?.endpoint }),
  });
}
