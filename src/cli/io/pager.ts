import { spawn } from 'node:child_process'
import { childEnvironment } from '../../core/child-environment.ts'

/** Matches the environment variables that configure pagers. */
const PAGER_VARIABLES = /^(?:LESS\w*|LV|MORE|BAT_\w+|COLORTERM|TERMINFO\w*)$/

/** Returns the command of the user's pager; null if there is none. As in gh, `cat` means no pager. */
export function pagerCommand(env: NodeJS.ProcessEnv): string | null {
  const command = (env.GDN_PAGER || env.PAGER || '').trim()
  return command === '' || command === 'cat' || env.NO_PAGER ? null : command
}

/**
 * Shows text in a pager, and waits until the user quits the pager.
 *
 * @returns false if the pager failed or doesn't exist
 */
export async function showInPager(command: string, text: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const pagerVariables = Object.entries(env).filter(([name]) => PAGER_VARIABLES.test(name))
  const child = spawn(command, {
    shell: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    // Options of less: F exits if the text fits on the screen, R shows colors, and X leaves the text on the screen.
    env: { LESS: 'FRX', LV: '-c', ...childEnvironment(env), ...Object.fromEntries(pagerVariables) },
  })
  // The user may quit the pager before it has read all the text.
  child.stdin.on('error', () => {})
  child.stdin.end(text)
  return await new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('close', (code) => resolve(code === 0 || code === null))
  })
}
