import { GdnError } from '../../src/core/errors.ts'
import { type SeenRequest, startHttpServer } from './http-server.ts'

/** The change at which a command is killed, and whether the backend executes it. */
export interface Kill {
  at: number
  isDone: boolean
}

/** Forwards requests to a backend, and counts the changes of the command in progress. */
export interface KillingRelay {
  url: string
  /** The paths of the command's requests that change something. */
  readonly changes: readonly string[]
  /** The bodies of these requests, except one that the backend doesn't get. */
  readonly bodies: readonly string[]
  /** Whether the command was killed. */
  readonly isKilled: boolean
  /**
   * Starts to count the changes of a new command, and returns the signal that kills it.
   *
   * @param beforeFirst called before the backend gets the first change
   */
  begin(kill: Kill | null, beforeFirst?: () => Promise<void>): AbortSignal
  /** Resolves when no request is in flight to the backend, including those of a killed command. */
  idle(): Promise<void>
  close(): Promise<void>
}

/** Starts a relay that can kill a command by its signal, before or after the backend gets one of its changes. */
export async function startKillingRelay(backend: { url: string }): Promise<KillingRelay> {
  const begun = (kill: Kill | null, beforeFirst = async () => {}) => {
    return { changes: [] as string[], bodies: [] as string[], kill, beforeFirst, stop: new AbortController() }
  }
  let now = begun(null)
  let first = Promise.resolve()
  const open = new Set<Promise<unknown>>()

  function forwarded(request: SeenRequest) {
    const answer = forward(backend.url, request).finally(() => open.delete(answer))
    open.add(answer)
    return answer
  }

  const server = await startHttpServer(async (request) => {
    const { method, path } = request
    if (method === 'GET' || /\/get\w+$/.test(path) || path.startsWith('/rpc/')) return await forwarded(request)
    const n = now.changes.push(path) - 1
    if (n !== now.kill?.at || now.kill.isDone) now.bodies.push(String(request.body))
    if (n === 0) first = now.beforeFirst()
    await first
    if (n !== now.kill?.at) return await forwarded(request)
    if (now.kill.isDone) await forwarded(request)
    now.stop.abort(new GdnError('interrupted', 'interrupted by this test'))
    return 'drop'
  })

  return {
    url: server.url,
    get changes() {
      return now.changes
    },
    get bodies() {
      return now.bodies
    },
    get isKilled() {
      return now.stop.signal.aborted
    },
    begin(kill, beforeFirst) {
      now = begun(kill, beforeFirst)
      return now.stop.signal
    },
    async idle() {
      while (open.size > 0) await Promise.allSettled(open)
    },
    close: server.close,
  }
}

/** Forwards a request to a backend, and returns its response. */
export async function forward(url: string, { method, path, headers, body }: SeenRequest) {
  const { host: _, connection: __, 'content-length': ___, 'transfer-encoding': ____, ...kept } = headers
  const init = { method, headers: Object.fromEntries(Object.entries(kept).map(([key, value]) => [key, String(value)])) }
  const answer = await fetch(`${url}${path}`, method === 'GET' ? init : { ...init, body: new Uint8Array(body) })
  const { 'content-encoding': _5, 'content-length': _6, ...sent } = Object.fromEntries(answer.headers)
  return { status: answer.status, headers: sent, body: Buffer.from(await answer.arrayBuffer()) }
}
