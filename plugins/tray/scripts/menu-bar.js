/* The menu bar of macOS, for osascript -l JavaScript. Lines of JSON: from Doorward {"view":{…}} and {"notify":"…"}, to
 * it {"ready":true}, {"choice":"…"} and {"error":"…"}. Ends with its standard input. */
ObjC.import("Cocoa");

var choices = [];

function say(line) {
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

// osascript calls it.
// oxlint-disable-next-line no-unused-vars
function run() {
  var app = $.NSApplication.sharedApplication;
  app.setActivationPolicy($.NSApplicationActivationPolicyAccessory);
  var input = $.NSFileHandle.fileHandleWithStandardInput;
  var bar = $.NSStatusBar.systemStatusBar.statusItemWithLength($.NSVariableStatusItemLength);
  var title = "";
  var waiting = "";

  function take(line) {
    var message = JSON.parse(line);
    if (message.view) draw(bar, target, message.view);
    if (message.view) title = message.view.title;
    if (message.notify) notify(title, message.notify);
  }

  function read() {
    var data = input.availableData;
    if (Number(data.length) === 0) return app.terminate(null);
    waiting += $.NSString.alloc.initWithDataEncoding(data, $.NSUTF8StringEncoding).js;
    var lines = waiting.split("\n");
    waiting = lines.pop();
    lines.forEach(function (line) {
      try {
        take(line);
      } catch (error) {
        say({ error: String(error) });
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
          say({ choice: choices[item.tag] });
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
  say({ ready: true });
  void app.run;
}
