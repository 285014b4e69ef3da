/** Finds steps and commands of a task that cannot be done, before a desktop is taken for it. */
import { itemAt, RlError } from 'rlanything/kit'
import type { Command } from '../computer.ts'
import { parseScript } from '../screen/grammars/pyautogui.ts'
import { pyautoguiIn } from './pyautogui-command.ts'
import { filledIn, isSetupStep } from './setup.ts'
import { programsIn } from './shell-programs.ts'
import type { SetupStep } from './task-file.ts'

/** Files and programs that are there for a task. */
export type Supply = {
  /** Whether the file of a web address, or of a path on another machine, is here. */
  readonly file: (address: string) => boolean
  readonly program: (name: string) => boolean
  /** Whether there are the services of a whole machine: settings, sound, an init system, a network. */
  readonly services: boolean
}

const ANY_SCREEN = { width: 1280, height: 800 }

/** Returns the unsupported features by name. Returns none if the step can be done. */
export function unsupportedInStep({ type, parameters }: SetupStep, supply: Supply): readonly string[] {
  if (!isSetupStep(type)) return [`step ${type}`]
  const { files, command } = parameters
  const address = { download: 'url', upload_file: 'local_path' }[type]
  if (address !== undefined)
    return Array.isArray(files) && files.some((file) => !supply.file(String(file?.[address])))
      ? ['file not here']
      : []
  if (type === 'launch') return missingProgram(parameters, supply)
  if (type !== 'execute' && type !== 'command') return []
  try {
    const code = isCommand(command) ? pyautoguiIn(filledIn(command, ANY_SCREEN)) : null
    if (code === null) return missingProgram(parameters, supply)
    parseScript(code)
    return []
  } catch (error) {
    if (error instanceof RlError && error.code === 'screen.action')
      return ['code of pyautogui that cannot be read']
    throw error
  }
}

/**
 * Programs that need something that a local desktop does not have. It has no settings service, sound, init
 * system or network, and nobody with the rights of an administrator. Such a program may exist and yet do
 * nothing, or forget what it was told.
 */
const NEEDS_A_SERVICE = new Set(
  [
    'gsettings dconf dconf-editor gnome-control-center gnome-extensions xfconf-query',
    'pactl pacmd pamixer amixer alsamixer wpctl pulseaudio pipewire',
    'systemctl service journalctl loginctl timedatectl hostnamectl localectl busctl machinectl shutdown reboot',
    'sudo su pkexec doas passwd chpasswd useradd userdel usermod adduser deluser groupadd visudo chroot mount umount modprobe',
    'apt apt-get aptitude dpkg snap flatpak dnf pip pip3 npm',
    'curl wget ssh scp sftp rsync ping nmcli nmtui ifconfig iptables ufw bluetoothctl',
    'crontab at docker podman xrandr brightnessctl upower udisksctl lpadmin lp',
  ].flatMap((line) => line.split(' ')),
)

/**
 * Returns programs that a command starts and that cannot do their work here, by name. A path may be that of a
 * file that the task brings along.
 */
export function missingProgram(
  { command, shell }: Readonly<Record<string, unknown>>,
  { program, services }: Supply,
): readonly string[] {
  if (!isCommand(command)) return []
  const words = typeof command === 'string' ? [command] : command
  const isText = typeof command === 'string' || shell === true
  const first = itemAt(words, 0)
  const names = isText ? programsIn(first) : [first, ...programsIn(quotedWords(words))]
  return names.flatMap((path) => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (!services && NEEDS_A_SERVICE.has(name)) return [`service of ${name}`]
    return path.includes('/') || program(path) ? [] : [`program ${path}`]
  })
}

/** A list of words as a text for a shell: `['bash', '-c', 'a | b']` starts `a` and `b`. */
function quotedWords(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
}

function isCommand(command: unknown): command is Command {
  return (
    typeof command === 'string' ||
    (Array.isArray(command) && command.length > 0 && command.every((one) => typeof one === 'string'))
  )
}
