import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { GDN_BIN } from './gdn-bin.ts'

// A pseudo-terminal by script(1) of util-linux, because Node has none. The script of BSD and macOS has other flags.
export const PTY = 'script'
export const HAS_PTY = spawnSync(PTY, ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true
const NODE = process.env.GDN_TEST_NODE || process.execPath

export const CTRL_C = '\u0003'
export const HIDE_CURSOR = '\u001b[?25l'
export const SHOW_CURSOR = '\u001b[?25h'

interface Terminal {
  /** Resolves when the screen has shown `text`. */
  shows(text: string): Promise<void>
  /** Same, but counts only output since the last input. */
  showsNow(text: string | RegExp): Promise<void>
  type(keys: string): void
  /** Resolves at the end with the exit code and everything that the screen has shown. */
  end(): Promise<{ code: number | null; screen: string }>
}

/** Runs a gdn command line on a terminal. Its stdout goes to a file, and the screen shows stderr. */
export function atTerminal(args: string, env: NodeJS.ProcessEnv, stdout = '/dev/null'): Terminal {
  const line = `stty cols 80 rows 24; exec "${NODE}" "${GDN_BIN}" ${args} >"${stdout}"`
  const child = spawn(PTY, ['-qec', line, '/dev/null'], {
    env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  // Keys after the end.
  child.stdin.on('error', () => {})
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  let typedAt = 0
  let isOver = false
  const ended = once(child, 'close').then(() => {
    isOver = true
  })
  const shown = async (text: string | RegExp, from: number) => {
    const isThere = () => (typeof text === 'string' ? screen.includes(text, from) : text.test(screen.slice(from)))
    while (!isThere()) {
      if (isOver) throw new Error(`ended without showing "${text}": ${screen}`)
      await Promise.race([once(child.stdout, 'data'), ended])
    }
  }
  return {
    shows: (text) => shown(text, 0),
    showsNow: (text) => shown(text, typedAt),
    type(keys) {
      typedAt = screen.length
      child.stdin.write(keys)
    },
    async end() {
      await ended
      return { code: child.exitCode, screen }
    },
  }
}
