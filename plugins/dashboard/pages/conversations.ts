// Renders the page with the history of all conversations.
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html } from "./html.ts";

/** Renders the list and the open conversation, both filled by the script. */
export function conversationsPage(page: SignedInPage): string {
  const body = html`<div class="talks scripted waiting">
<section class="card talk-list" aria-labelledby="h-list"><h2 id="h-list">All conversations</h2>
<div class="field" data-live="searching" hidden><label for="search">Search</label>
<input id="search" type="search" autocomplete="off" maxlength="200" placeholder="Words in messages">
</div>
<p class="said" role="status" data-live="said"></p>
<p class="problem" role="alert" data-live="problem"></p>
<ul data-live="rows"></ul>
<p class="empty" data-live="none" hidden></p>
<button type="button" class="quiet small" data-more hidden>Load more</button></section>
<p class="card empty talk-none" data-live="closed">Choose a conversation to read it.</p>
<section class="card talk" aria-labelledby="h-talk" tabindex="-1" data-live="talk" hidden>
<div class="card-head"><h2 id="h-talk" data-live="title"></h2></div>
<p class="quiet-text" data-live="about"></p>
<div class="talk-actions"><a class="button quiet" data-continue>Open in chat</a>
<button type="button" class="quiet" data-rename>Rename</button>
<a class="button quiet" data-export="markdown" download>Export Markdown</a>
<a class="button quiet" data-export="json" download>Export JSON</a>
<button type="button" class="quiet danger" data-forget>Delete</button></div>
<div class="messages" tabindex="0" role="region" aria-label="Messages" data-live="messages">
<button type="button" class="quiet small" data-earlier hidden>Load earlier</button>
<button type="button" class="quiet small" data-later hidden>Load later</button></div></section>
</div>`;
  return signedInPage(page, {
    path: "/conversations",
    title: "Conversations",
    styles: ["messages.css", "conversations.css"],
    body,
  });
}
