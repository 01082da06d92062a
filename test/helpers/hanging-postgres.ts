import { rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { serverFolder } from './server-folder.ts'

const SOCKET = '.s.PGSQL.5432'

export interface HangingPostgres {
  url: string
  /** Stops forwarding messages, at once or after this many more. Connections stay open. */
  hang(afterMessages?: number): void
  /** Resolves when it hangs and a client waits for a response. */
  waitedFor(): Promise<void>
  close(): Promise<void>
}

/** A proxy to a PostgreSQL server that stops responding, like a frozen machine or a broken network link. */
export async function startHangingPostgres(serverUrl: string, database: string): Promise<HangingPostgres> {
  const [, host = ''] = /[?&]host=([^&]+)/.exec(serverUrl) ?? []
  const folder = serverFolder('gdn-hanging-')
  const sockets = new Set<Socket>()
  let left = Number.POSITIVE_INFINITY
  let tell = () => {}
  const waiting = new Promise<void>((resolve) => {
    tell = resolve
  })
  const server = createServer((client) => {
    const upstream = connect(join(decodeURIComponent(host), SOCKET))
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (left-- > 0) upstream.write(bytes)
      else tell()
    })
    upstream.on('data', (bytes) => void (left >= 0 && client.write(bytes)))
  })
  await new Promise<void>((resolve) => server.listen(join(folder, SOCKET), resolve))
  return {
    url: `postgres://gdn@/${database}?host=${encodeURIComponent(folder)}`,
    hang(afterMessages = 0) {
      left = afterMessages
    },
    waitedFor: () => waiting,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
