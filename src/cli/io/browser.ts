import { spawn } from 'node:child_process'
import { childEnvironment } from '../../core/child-environment.ts'

/** Matches the environment variables that a browser needs to open a window on the user's desktop. */
const DESKTOP_VARIABLES =
  /^(?:DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|DBUS_SESSION_BUS_ADDRESS|BROWSER|DESKTOP_SESSION|GNOME_\w+|KDE_\w+|WSL\w*)$/

/** A program and its arguments. It runs without a shell, so the URL needs no escaping. */
export type Opener = readonly [program: string, ...args: string[]]

/**
 * Returns the programs to try for opening a URL, in this order. Returns an empty list if there is no display. BROWSER
 * takes precedence. It contains commands separated by colons (on Windows, a single command), with `%s` for the URL, or
 * `none` for no browser.
 */
export function findOpeners(url: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform): Opener[] {
  const browser = env.BROWSER?.trim() ?? ''
  if (browser === 'none') return []
  if (browser !== '')
    return (platform === 'win32' ? [browser] : browser.split(':')).flatMap((line) => parseBrowserCommand(line, url))
  // A user who is connected through SSH can't see the display of this machine.
  if ((env.SSH_CONNECTION ?? env.SSH_TTY ?? '') !== '') return []
  if (platform === 'darwin') return [['open', url]]
  if (platform === 'win32') return [['rundll32', 'url.dll,FileProtocolHandler', url]]
  const isWsl = (env.WSL_DISTRO_NAME ?? '') !== ''
  const onWindows: Opener[] = [
    ['wslview', url],
    ['rundll32.exe', 'url.dll,FileProtocolHandler', url],
  ]
  const hasScreen = (env.DISPLAY ?? env.WAYLAND_DISPLAY ?? '') !== ''
  return [...(isWsl ? onWindows : []), ...(hasScreen ? ([['xdg-open', url]] as const) : [])]
}

function parseBrowserCommand(line: string, url: string): Opener[] {
  const [program, ...args] = line.trim().split(/\s+/)
  if (program === undefined || program === '') return []
  const hasPlace = args.some((arg) => arg.includes('%s'))
  return [[program, ...(hasPlace ? args.map((arg) => arg.replaceAll('%s', () => url)) : [...args, url])]]
}

/**
 * Time in milliseconds after which a running program is assumed to be the browser itself. A program that only forwards
 * the URL exits sooner.
 */
const BROWSER_EXIT_MS = 1500

/**
 * Opens a URL in a browser on this machine.
 *
 * @returns false if there is no browser or no browser could open the URL
 */
export async function openInBrowser(url: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform): Promise<boolean> {
  for (const opener of findOpeners(url, env, platform)) if (await start(opener, env)) return true
  return false
}

async function start([program, ...args]: Opener, env: NodeJS.ProcessEnv): Promise<boolean> {
  const desktop = Object.entries(env).filter(([name]) => DESKTOP_VARIABLES.test(name))
  const child = spawn(program, args, {
    detached: true,
    stdio: 'ignore',
    env: { ...childEnvironment(env), ...Object.fromEntries(desktop) },
    windowsHide: true,
  })
  return await new Promise((resolve) => {
    const timer = setTimeout(() => settle(true), BROWSER_EXIT_MS)
    const settle = (opened: boolean) => {
      clearTimeout(timer)
      child.unref()
      resolve(opened)
    }
    child.once('error', () => settle(false))
    child.once('exit', (code) => settle(code === 0))
  })
}
