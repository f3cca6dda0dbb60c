// Enables scripted controls. All module scripts have run when this event fires; until then the
// style sheet blocks clicks on controls that have no listener yet.
document.addEventListener("DOMContentLoaded", () => {
  document.documentElement.dataset["ready"] = "";
});
