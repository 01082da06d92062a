import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { execa } from 'execa'
import { GDN_BIN } from './gdn-bin.ts'

export interface Run {
  exitCode: number | undefined
  signal: string | undefined
  stdout: string
  stderr: string
}

/** The built gdn as in a script: no terminal, a separate home directory, server and key from the environment. */
export function gdnAt(backend: { url: string; apiKey: string }, home: string, more: Record<string, string> = {}) {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    GDN_PACE_DIR: join(home, 'pace'),
    GDN_BASE_URL: backend.url,
    GDN_API_KEY: backend.apiKey,
    GDN_BLOCKCHAIN: 'polygon',
    ...more,
  }
  const start = (argv: readonly string[]) =>
    execa(process.env.GDN_TEST_NODE ?? process.execPath, [GDN_BIN, ...argv], {
      env,
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
    })
  const outcome = (result: Awaited<ReturnType<typeof start>>): Run => ({
    exitCode: result.exitCode,
    signal: result.signal,
    stdout: String(result.stdout),
    stderr: String(result.stderr),
  })
  const run = async (...argv: string[]): Promise<Run> => outcome(await start(argv))
  return {
    run,
    /** Runs with `--json`. Throws the error output on failure. */
    async json<Result>(...argv: string[]): Promise<Result> {
      const { exitCode, stdout, stderr } = await run(...argv, '--json')
      if (exitCode !== 0) throw new Error(`gdn ${argv.join(' ')} ended with ${exitCode}: ${stderr}`)
      return JSON.parse(stdout) as Result
    },
    /** Sends SIGKILL after this many milliseconds or when the promise resolves, unless gdn has ended. */
    async runAndKill(argv: readonly string[], when: number | ((ended: AbortSignal) => Promise<void>)): Promise<Run> {
      const child = start(argv)
      const over = new AbortController()
      const moment = typeof when === 'number' ? setTimeout(when, undefined, { signal: over.signal }) : when(over.signal)
      moment.then(
        () => child.kill('SIGKILL'),
        () => {},
      )
      const result = await child
      over.abort()
      return outcome(result)
    },
    async file(name: string, content: string): Promise<string> {
      const path = join(home, name)
      await writeFile(path, content)
      return path
    },
  }
}
