import { rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { serverFolder } from './server-folder.ts'

const READY = 'Z'.charCodeAt(0)
const IDLE = 'I'.charCodeAt(0)
const TERMINATE = 'X'.charCodeAt(0)
const SOCKET = '.s.PGSQL.5432'

/** A pooler in front of a PostgreSQL server, like pgbouncer in transaction mode. */
export interface Pooler {
  /** The folder of its Unix socket. */
  folder: string
  /** Maximum number of server connections in use at the same time. */
  readonly most: number
  close(): Promise<void>
}

interface Upstream {
  socket: Socket
  client: Socket | null
  /** Bytes of an incomplete message. */
  rest: Buffer
  greeting: Buffer[]
  ready(): void
}

/**
 * Assigns a server connection to a client when a transaction begins, and takes it away when it ends. The next
 * transaction gets another connection, in the state left by its previous user. Many clients share few connections.
 *
 * @param folder of the server's Unix socket, where all users are trusted
 */
export async function startPooler(folder: string, database: string, connections: number): Promise<Pooler> {
  const free: Upstream[] = []
  const waiting: { client: Socket; bytes: Buffer[] }[] = []
  const serving = new Map<Socket, Upstream>()
  const all: Upstream[] = []
  const clients = new Set<Socket>()
  let most = 0

  const release = (upstream: Upstream) => {
    if (upstream.client !== null) serving.delete(upstream.client)
    upstream.client = null
    const next = waiting.shift()
    if (next === undefined) free.push(upstream)
    else assign(upstream, next.client, next.bytes)
  }
  const assign = (upstream: Upstream, client: Socket, bytes: readonly Buffer[]) => {
    upstream.client = client
    serving.set(client, upstream)
    most = Math.max(most, serving.size)
    for (const chunk of bytes) upstream.socket.write(chunk)
  }

  const open = () =>
    new Promise<Upstream>((resolve) => {
      const socket = connect(join(folder, SOCKET))
      const upstream: Upstream = { socket, client: null, rest: Buffer.alloc(0), greeting: [], ready: () => {} }
      let isGreeted = false
      upstream.ready = () => {
        isGreeted = true
        resolve(upstream)
      }
      const text = Buffer.from(`user\0gdn\0database\0${database}\0application_name\0gdn\0\0`)
      const head = Buffer.alloc(8)
      head.writeInt32BE(8 + text.length, 0)
      head.writeInt32BE(196_608, 4)
      socket.write(Buffer.concat([head, text]))
      socket.on('error', () => {})
      socket.on('data', (chunk) => {
        if (isGreeted) upstream.client?.write(chunk)
        else upstream.greeting.push(chunk)
        upstream.rest = Buffer.concat([upstream.rest, chunk])
        while (upstream.rest.length >= 5) {
          const length = 1 + upstream.rest.readInt32BE(1)
          if (upstream.rest.length < length) break
          const message = upstream.rest.subarray(0, length)
          upstream.rest = upstream.rest.subarray(length)
          if (message[0] !== READY) continue
          if (!isGreeted) upstream.ready()
          else if (message[5] === IDLE) release(upstream)
        }
      })
    })

  for (let count = 0; count < connections; count++) all.push(await open())
  free.push(...all)
  const greeting = Buffer.concat(all[0]?.greeting ?? [])

  const server: Server = createServer((client) => {
    clients.add(client)
    let isGreeted = false
    client.on('error', () => {})
    client.on('close', () => {
      clients.delete(client)
      const at = waiting.findIndex((one) => one.client === client)
      if (at >= 0) waiting.splice(at, 1)
      const upstream = serving.get(client)
      // Its open transaction is rolled back.
      if (upstream !== undefined) {
        const text = Buffer.from('rollback\0')
        const head = Buffer.from([0x51, 0, 0, 0, 4 + text.length])
        upstream.socket.write(Buffer.concat([head, text]))
      }
    })
    client.on('data', (chunk) => {
      if (!isGreeted) {
        isGreeted = true
        client.write(greeting)
        return
      }
      if (chunk[0] === TERMINATE) return void client.end()
      const upstream = serving.get(client)
      if (upstream !== undefined) return void upstream.socket.write(chunk)
      const next = free.shift()
      if (next !== undefined) return assign(next, client, [chunk])
      const known = waiting.find((one) => one.client === client)
      if (known === undefined) waiting.push({ client, bytes: [chunk] })
      else known.bytes.push(chunk)
    })
  })
  const own = serverFolder('gdn-pooler-')
  await new Promise<void>((resolve) => server.listen(join(own, SOCKET), resolve))
  return {
    folder: own,
    get most() {
      return most
    },
    async close() {
      for (const client of clients) client.destroy()
      for (const { socket } of all) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(own, { recursive: true, force: true })
    },
  }
}
