// The page: a form that sends messages and a list that shows the replies.
export const page = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>A page and its channel</title>
  <form><label>Say <input name="text" autofocus autocomplete="off"></label></form>
  <ol></ol>
  <script type="module">
    const socket = new WebSocket(new URL("pico", location.href.replace(/^http/, "ws")));
    const show = (text) => {
      const item = document.createElement("li");
      item.textContent = text;
      document.querySelector("ol").append(item);
    };
    socket.onmessage = ({ data }) => {
      const { type, payload } = JSON.parse(data);
      if (type === "message.create") show(payload.content);
    };
    document.querySelector("form").onsubmit = (event) => {
      event.preventDefault();
      const { text } = event.target;
      socket.send(JSON.stringify({ type: "message.send", payload: { content: text.value } }));
      text.value = "";
    };
  </script>
</html>
`;
