/** Files of every new local desktop: its user, and the behaviour of its window manager and programs. */

export type DesktopFile = { readonly path: string; readonly text: string; readonly mode?: string }

/** One desktop, new windows in the middle. Of the window manager's own keys only Alt+F4 works. */
const OPENBOX = `<?xml version="1.0"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <placement><policy>Smart</policy><center>yes</center></placement>
  <theme><name>Clearlooks</name><animateIconify>no</animateIconify></theme>
  <desktops><number>1</number></desktops>
  <keyboard><keybind key="A-F4"><action name="Close"/></keybind></keyboard>
  <mouse>
    <context name="Client">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
    </context>
    <context name="Titlebar">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Left" action="Drag"><action name="Move"/></mousebind>
    </context>
    <context name="Close"><mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>
    <context name="Maximize">
      <mousebind button="Left" action="Click"><action name="ToggleMaximize"/></mousebind>
    </context>
    <context name="Iconify"><mousebind button="Left" action="Click"><action name="Iconify"/></mousebind></context>
  </mouse>
  <applications><application class="*"><focus>yes</focus></application></applications>
</openbox_config>
`

/** A caret that blinks and a dialog that slides would keep the screen from coming to rest. */
const GTK = `[Settings]
gtk-cursor-blink=0
gtk-enable-animations=0
gtk-primary-button-warps-slider=0
`

const CHROMIUM = `#!/bin/sh
exec /usr/bin/chromium --no-sandbox --force-renderer-accessibility --no-first-run --no-default-browser-check \\
  --disable-background-networking --disable-component-update --disable-sync --disable-gpu --password-store=basic \\
  --user-data-dir=/home/user/.config/chromium "$@"
`

const LIBREOFFICE = `#!/bin/sh
exec /usr/lib/libreoffice/program/soffice --norestore --nologo --nofirststartwizard "$@"
`

const LIBREOFFICE_SETTINGS = `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Common/Misc"><prop oor:name="ShowTipOfTheDay" oor:op="fuse"><value>false</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Misc"><prop oor:name="FirstRun" oor:op="fuse"><value>false</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Save/Document"><prop oor:name="WarnAlienFormat" oor:op="fuse"><value>false</value></prop></item>
<item oor:path="/org.openoffice.Setup/Product"><prop oor:name="ooSetupLastVersion" oor:op="fuse"><value>7.4</value></prop></item>
<item oor:path="/org.openoffice.Setup/Office"><prop oor:name="LastCompatibilityCheckID" oor:op="fuse"><value>none</value></prop></item>
</oor:items>
`

export const FILES: readonly DesktopFile[] = [
  { path: '/etc/passwd', text: 'user:x:1000:1000:user:/home/user:/bin/bash\n' },
  { path: '/etc/group', text: 'user:x:1000:\n' },
  { path: '/etc/machine-id', text: `${'0'.repeat(31)}1\n` },
  { path: '/etc/nsswitch.conf', text: 'passwd: files\ngroup: files\nhosts: files\n' },
  { path: '/etc/hosts', text: '127.0.0.1 localhost desktop\n' },
  { path: '/opt/rl/openbox.xml', text: OPENBOX },
  { path: '/opt/rl/bin/chromium', text: CHROMIUM, mode: '0755' },
  { path: '/opt/rl/bin/google-chrome', text: CHROMIUM, mode: '0755' },
  { path: '/opt/rl/bin/libreoffice', text: LIBREOFFICE, mode: '0755' },
  { path: '/opt/rl/bin/soffice', text: LIBREOFFICE, mode: '0755' },
  { path: '/home/user/.config/gtk-3.0/settings.ini', text: GTK },
  {
    path: '/home/user/.config/libreoffice/4/user/registrymodifications.xcu',
    text: LIBREOFFICE_SETTINGS,
  },
  { path: '/home/user/.bashrc', text: "PS1='user@desktop:\\w$ '\n" },
  { path: '/home/user/Desktop/.keep', text: '' },
]
