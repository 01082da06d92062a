import { createServer } from 'node:http'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { parseIoSettings } from '../../src/cli/connect/settings-of-argv.ts'
import type { CommandEdge } from '../../src/cli/deps.ts'
import { commandSignals } from '../../src/cli/io/deadline.ts'
import { createIo } from '../../src/cli/io/io.ts'
import { makeDeps } from '../../src/cli/make-deps.ts'
import { McpSession } from '../../src/cli/mcp/session.ts'
import { failedResponse, type ToolResponse } from '../../src/cli/mcp/tool-response.ts'
import type { Tool } from '../../src/cli/mcp/tools.ts'
import { run } from '../../src/cli/run.ts'
import { GdnError } from '../../src/core/errors.ts'
import { forward } from './forward.ts'
import { listenLocally } from './http-server.ts'
import { hurriedClock } from './hurried-clock.ts'

/** A session of `gdn mcp` in this process. */
export interface TestMcpSession {
  call(tool: string, values: object): Promise<ToolResponse>
  tools(): readonly Tool[]
  /** Stops what is in progress, as when the client disconnects. */
  close(): Promise<void>
}

interface SessionOptions {
  /** Has the state, and the files in the folder `project`. Sessions of one home are on the same machine. */
  home: string
  url: string
  env: NodeJS.ProcessEnv
  /** In the smallest unit of POL; null permits no spending. */
  maxCost: bigint | null
  /** Flags that the operator adds to commands. */
  flags?: readonly string[]
}

export async function openMcpSession({
  home,
  url,
  env: more,
  maxCost,
  flags = [],
}: SessionOptions): Promise<TestMcpSession> {
  const root = join(home, 'project')
  const env = { HOME: home, GDN_PACE_DIR: join(home, 'pace'), GDN_KEYRING: 'off', ...more }
  const never = new AbortController().signal
  const signals = { own() {}, instead() {}, hangup() {}, release() {}, signal: never, again: never }
  const clock = hurriedClock()
  const edge: CommandEdge = {
    ...{ env, cwd: root, program: [process.execPath, ''], stdin: Readable.from([]), clock },
    ...{ stdout: new PassThrough(), stderr: new PassThrough(), signals: commandSignals(signals) },
  }
  const stateDir = join(home, 'state')
  const io = await createIo(edge, parseIoSettings(['mcp'], env))
  const runFast: typeof run = (argv, moreOptions) => run(argv, { ...moreOptions, clock })
  const deps = makeDeps(edge, io, { exitCode: 0 }, runFast, () => stateDir)
  const session = await McpSession.open(deps, {
    ...{ allowWrites: true, root, passwordFile: null, stateDir },
    maxCost: maxCost === null ? null : { amount: maxCost, currency: 'POL' },
    toolsets: ['all'],
    operatorFlags: [`--base-url=${url}`, `--state-dir=${stateDir}`, ...flags],
    callTimeoutMs: 60_000,
    localFilesIn: async () => new Set(),
  })
  const context = { signal: never, progress() {} }
  return {
    async call(tool, values) {
      try {
        return await session.call(session.toolbox.find(tool), { ...values }, context)
      } catch (error) {
        // The server answers with it.
        if (!(error instanceof GdnError)) throw error
        return failedResponse(error)
      }
    },
    tools: () => session.toolbox.offeredTools,
    close: () => session.close(),
  }
}

/** Requests that spend. */
const SPENDING = /\/(create\w+|updatednft|freezenft|burnnft|transfernft|commitprovenance)$/

export interface RecordingProxy {
  url: string
  /** Calls a function with the endpoint and the Idempotency-Key of each request that spends. */
  record(to: (key: string) => void | Promise<void>): void
  /** Loses the answers to requests that spend, and calls a function at each; null loses none. */
  lose(then: (() => void) | null): void
  close(): Promise<void>
}

/** The address of a backend that restarts on other ports. */
export async function startRecordingProxy(target: () => string): Promise<RecordingProxy> {
  let onKey: (key: string) => void | Promise<void> = () => {}
  let onLost: (() => void) | null = null
  const server = createServer(async (request, response) => {
    const endpoint = SPENDING.exec(request.url ?? '')?.[1]
    if (endpoint !== undefined) await onKey(`${endpoint} ${request.headers['idempotency-key']}`)
    const exchanged = await forward(target(), request)
    const isLost = endpoint !== undefined && onLost !== null
    if (isLost) onLost?.()
    if (exchanged === null || isLost) return void response.destroy()
    const { status, headers, body } = exchanged
    response.writeHead(status, { ...headers, 'content-length': body.length })
    response.end(body)
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    record(to) {
      onKey = to
    },
    lose(then) {
      onLost = then
    },
    close,
  }
}
