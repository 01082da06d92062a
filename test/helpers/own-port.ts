import { createServer } from 'node:net'

/** Below the ports that systems pick for connections and for listening on port 0. */
const [FIRST, LAST] = [10_000, 30_000]

/** Returns a free port that a server gets again after it stopped, even if others listen on port 0 in between. */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
