// Renders the chat page.
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html } from "./html.ts";

/** Renders the chat page: a channel client that the server authenticates by its sign-in cookie. */
export function chatPage(page: SignedInPage): string {
  const body = html`<div class="chat scripted">
<details class="card chat-list"><summary><h2>Conversations</h2></summary><div>
<button type="button" class="quiet" data-new>New conversation</button>
<ul data-live="conversations"></ul>
<form data-open><label for="session">Open by name</label><div class="copyable">
<input id="session" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="256">
<button class="quiet">Open</button></div></form></div></details>
<section class="card chat-main" aria-labelledby="h-chat"><div class="card-head">
<h2 id="h-chat" data-live="session"></h2>
<span class="badge off" data-live="link">Connecting</span>
<label class="switch push"><input type="checkbox" data-raw>Raw frames</label></div>
<div class="notice warn" data-live="trouble" hidden><p data-live="trouble-text"></p>
<button type="button" class="quiet small" data-reconnect>Reconnect</button></div>
<div class="chat-frame">
<div class="messages" data-live="messages" tabindex="0" role="log" aria-label="Messages"></div>
<ol class="frames" data-live="frames" tabindex="0" aria-label="Raw frames, newest last" hidden></ol>
</div>
<p class="typing" role="status" data-live="typing"></p>
<form class="composer" data-send><div class="images" data-live="images"></div>
<label class="unseen" for="message">Message</label>
<textarea id="message" rows="2" maxlength="1000000" placeholder="Message" autocomplete="off">
</textarea>
<div class="composer-row"><label class="button quiet">
<input type="file" class="unseen" data-image multiple
 accept="image/png,image/jpeg,image/gif,image/webp,image/bmp">Add image</label>
<span class="hint">Enter to send, Shift+Enter for a new line, Escape to stop</span>
<button class="push" data-submit>Send</button></div>
<p class="problem" role="alert" data-live="send-problem"></p></form></section></div>`;
  return signedInPage(page, {
    path: "/chat",
    title: "Chat",
    styles: ["messages.css", "chat.css"],
    body,
  });
}
