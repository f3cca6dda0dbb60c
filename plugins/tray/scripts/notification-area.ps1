# Shows the icon in the notification area of Windows; run by powershell.exe -STA. Reads lines of JSON
# ({"view":{...}}, {"notify":"..."}), writes {"ready":true}, {"choice":"..."} and {"error":"..."}, and
# exits at the end of its standard input.
Add-Type -AssemblyName System.Windows.Forms, System.Drawing
[Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false
$reader = New-Object System.IO.StreamReader ([Console]::OpenStandardInput()), (New-Object System.Text.UTF8Encoding $false)
$tray = New-Object System.Windows.Forms.NotifyIcon
$script:title = ''
$script:handle = [IntPtr]::Zero

Add-Type -Namespace Doorward -Name Icons -MemberDefinition @'
[DllImport("user32.dll")] public static extern bool DestroyIcon(IntPtr handle);
'@

function Say($line) {
  [Console]::Out.WriteLine(($line | ConvertTo-Json -Compress))
  [Console]::Out.Flush()
}

function Draw($view) {
  $script:title = $view.title
  $bytes = New-Object System.IO.MemoryStream (, [Convert]::FromBase64String($view.icon))
  $bitmap = New-Object System.Drawing.Bitmap $bytes
  $before = $script:handle
  $script:handle = $bitmap.GetHicon()
  $tray.Icon = [System.Drawing.Icon]::FromHandle($script:handle)
  if ($before -ne [IntPtr]::Zero) { [void][Doorward.Icons]::DestroyIcon($before) }
  $text = "$($view.title): $($view.hint)"
  $tray.Text = $text.Substring(0, [Math]::Min(63, $text.Length)) # limit of Windows

  $menu = New-Object System.Windows.Forms.ContextMenuStrip
  foreach ($item in $view.items) {
    if ($item -is [string]) {
      [void]$menu.Items.Add((New-Object System.Windows.Forms.ToolStripSeparator))
      continue
    }
    $entry = $menu.Items.Add($item.label.Replace('&', '&&'))
    $entry.Enabled = $item.enabled
    $entry.Tag = $item.id
    $entry.add_Click({ Say @{ choice = $this.Tag } })
  }
  $old = $tray.ContextMenuStrip
  $tray.ContextMenuStrip = $menu
  if ($old) { $old.Dispose() }
  $tray.Visible = $true
}

function Take($line) {
  $message = $line | ConvertFrom-Json
  if ($message.view) { Draw $message.view }
  if ($message.notify) { $tray.ShowBalloonTip(15000, $script:title, $message.notify, 'Info') }
}

$tray.add_MouseClick({ if ($_.Button -eq 'Left') { Say @{ choice = 'open' } } })
$script:next = $reader.ReadLineAsync()
$timer = New-Object System.Windows.Forms.Timer
$timer.Interval = 100
$timer.add_Tick({
  while ($script:next.IsCompleted) {
    $line = $script:next.Result
    if ($null -eq $line) {
      $tray.Visible = $false
      [System.Windows.Forms.Application]::Exit()
      return
    }
    try { Take $line } catch { Say @{ error = "$_" } }
    $script:next = $reader.ReadLineAsync()
  }
})
$timer.Start()
Say @{ ready = $true }
[System.Windows.Forms.Application]::Run()
