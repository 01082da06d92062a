import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sql } from 'kysely'
import { withStore } from './backend.ts'

/**
 * Returns the number of rows of each table of a data dir, except tables that grow with chain and titles in any case.
 */
export function rowCounts(dataDir: string): Promise<Record<string, number>> {
  return withStore(dataDir, async ({ db }) => {
    const tables = await sql<{ name: string }>`
      select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not in ('owner_cursors', 'nft_terms', 'nft_term_cursor') order by name`.execute(
      db,
    )
    const counts: Record<string, number> = {}
    for (const { name } of tables.rows) {
      const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(name)}`.execute(db)
      counts[name] = Number(rows[0]?.n)
    }
    return counts
  })
}

/** MiB of this process's heap and buffers in use after garbage collection. */
export function memoryInUse(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return Math.round(((heapUsed + external) / 2 ** 20) * 10) / 10
}

export interface Streamed {
  answer: string
  /** Bytes sent before the server closed the connection. */
  sent: number
  ms: number
}

/**
 * Sends a head, then chunks until the server responds, closes the connection, or got `most` bytes. Hangs up after the
 * response, unless the chunks are `everyMs` apart: then the server closes the connection.
 */
export function streamBytes(
  url: string,
  head: string,
  { piece, most, everyMs = 0 }: { piece: string; most: number; everyMs?: number },
): Promise<Streamed> {
  const { hostname, port } = new URL(url)
  const since = performance.now()
  return new Promise((resolve) => {
    let answer = ''
    let sentBytes = 0
    let timer: NodeJS.Timeout | undefined
    const socket = connect({ host: hostname, port: Number(port) })
    const more = () => {
      if (socket.destroyed || answer !== '' || sentBytes >= most) return
      sentBytes += piece.length
      const roomy = socket.write(piece)
      if (everyMs > 0) timer = setTimeout(more, everyMs)
      else if (roomy) setImmediate(more)
      else socket.once('drain', more)
    }
    const end = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ answer, sent: sentBytes, ms: performance.now() - since })
    }
    socket.setEncoding('latin1')
    socket.on('connect', () => {
      socket.write(head)
      more()
    })
    socket.on('data', (text) => {
      answer += text
      if (everyMs === 0) socket.end()
    })
    socket.on('error', end)
    socket.on('close', end)
  })
}
