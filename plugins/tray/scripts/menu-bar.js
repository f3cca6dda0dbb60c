// Shows the icon in the menu bar of macOS; run by osascript -l JavaScript. Reads lines of JSON
// ({"view":{…}}, {"notify":"…"}), writes {"ready":true}, {"choice":"…"} and {"error":"…"}, and exits
// at the end of its standard input.
ObjC.import("Cocoa");

var choices = [];

function send(line) {
  var text = $(JSON.stringify(line) + "\n").dataUsingEncoding($.NSUTF8StringEncoding);
  $.NSFileHandle.fileHandleWithStandardOutput.writeData(text);
}

function draw(bar, target, view) {
  var data = $.NSData.alloc.initWithBase64EncodedStringOptions(view.icon, 0);
  var image = $.NSImage.alloc.initWithData(data);
  image.size = $.NSMakeSize(18, 18);
  bar.button.image = image;
  bar.button.toolTip = view.title + ": " + view.hint;
  choices = [];
  var menu = $.NSMenu.alloc.init;
  menu.autoenablesItems = false;
  view.items.forEach(function (item) {
    if (item === "separator") return menu.addItem($.NSMenuItem.separatorItem);
    var entry = $.NSMenuItem.alloc.initWithTitleActionKeyEquivalent(item.label, "pick:", "");
    entry.target = target;
    entry.enabled = item.enabled;
    entry.tag = choices.push(item.id) - 1;
    return menu.addItem(entry);
  });
  bar.menu = menu;
}

function notify(title, text) {
  var note = $.NSUserNotification.alloc.init;
  note.title = title;
  note.informativeText = text;
  $.NSUserNotificationCenter.defaultUserNotificationCenter.deliverNotification(note);
}

// Called by osascript.
// oxlint-disable-next-line no-unused-vars
function run() {
  var app = $.NSApplication.sharedApplication;
  app.setActivationPolicy($.NSApplicationActivationPolicyAccessory);
  var input = $.NSFileHandle.fileHandleWithStandardInput;
  var bar = $.NSStatusBar.systemStatusBar.statusItemWithLength($.NSVariableStatusItemLength);
  var title = "";
  var pending = "";

  function handle(line) {
    var message = JSON.parse(line);
    if (message.view) draw(bar, target, message.view);
    if (message.view) title = message.view.title;
    if (message.notify) notify(title, message.notify);
  }

  function read() {
    var data = input.availableData;
    if (Number(data.length) === 0) return app.terminate(null);
    pending += $.NSString.alloc.initWithDataEncoding(data, $.NSUTF8StringEncoding).js;
    var lines = pending.split("\n");
    pending = lines.pop();
    lines.forEach(function (line) {
      try {
        handle(line);
      } catch (error) {
        send({ error: String(error) });
      }
    });
    return input.waitForDataInBackgroundAndNotify;
  }

  ObjC.registerSubclass({
    name: "DoorwardTray",
    methods: {
      "pick:": {
        types: ["void", ["id"]],
        implementation: function (item) {
          send({ choice: choices[item.tag] });
        },
      },
      "read:": { types: ["void", ["id"]], implementation: read },
    },
  });
  var target = $.DoorwardTray.alloc.init;
  var arrived = $.NSFileHandleDataAvailableNotification;
  $.NSNotificationCenter.defaultCenter.addObserverSelectorNameObject(
    target,
    "read:",
    arrived,
    input,
  );
  void input.waitForDataInBackgroundAndNotify;
  send({ ready: true });
  void app.run;
}
