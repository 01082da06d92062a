import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { GDN_BIN } from './gdn-bin.ts'

export interface ServedBackend {
  child: ChildProcess
  pid: number
  url: string
  apiKey: string
  /** Its stderr output so far. */
  stderr(): string
  /** Sends the signal. Resolves with the exit code once the process has ended. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

export interface Starting {
  child: ChildProcess
  /** Rejects if the process ends before it is ready. */
  ready: Promise<ServedBackend>
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** Starts the built `gdn serve` as a separate process. */
export function serve(
  dataDir: string,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Starting {
  const node = process.env.GDN_TEST_NODE ?? process.execPath
  const port = flags.includes('--port') ? [] : ['--port', '0']
  const argv = [GDN_BIN, 'serve', '--json', ...port, '--data-dir', dataDir, ...flags]
  const child = spawn(node, argv, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: dataDir, ...env } })
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const gone = once(child, 'exit').then(([code]) => code as number | null)
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    return gone
  }
  const ready = new Promise<ServedBackend>((resolve, reject) => {
    if (child.stdout !== null) {
      createInterface(child.stdout).on('line', (line) => {
        const event = JSON.parse(line)
        if (event.event !== 'ready') return
        resolve({ child, pid: event.pid, url: event.url, apiKey: event.api_key, stderr: () => stderr, end })
      })
    }
    gone.then((code) => reject(new Error(`serve ended with ${code}: ${stderr}`)))
  })
  ready.catch(() => {})
  return { child, ready, end }
}
