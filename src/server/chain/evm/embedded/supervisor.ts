import { sleep } from '../../../../core/time.ts'
import { isUnreachable } from '../../rpc/rpc-response.ts'
import type { AnvilProcess } from './anvil-process.ts'
import type { Tip } from './mine.ts'
import { type NodeRpc, nodeUnreachableError } from './node-rpc.ts'

/** A node that has replayed the journal and serves requests. */
export interface LiveNode {
  readonly rpc: NodeRpc
  readonly process: AnvilProcess
  /** The chain's tip on this node. The sequencer updates it. */
  readonly tip: Tip
  /** Whether the process is running. Set to false when its exit is detected. */
  isAlive: boolean
}

export interface Supervisor {
  /**
   * Returns the current node. Waits for a restart and its replay. Rejects if the chain is closed or can't be rebuilt.
   */
  node(): Promise<LiveNode>
  /** Returns the running node; undefined during a restart. */
  current(): LiveNode | undefined
  /** Terminates a node whose state is unknown. The next node is built from the journal. */
  replace(node: LiveNode): Promise<void>
  close(): Promise<void>
}

const MAX_BOOT_ATTEMPTS = 3
/**
 * Lifetime in milliseconds below which a node counts as short-lived. After several short-lived nodes in a row, the next
 * start is delayed to limit the load.
 */
const SHORT_LIFE_MS = 1_000
const MAX_EARLY_EXITS = 3
const PAUSE_MS = 100
const MAX_PAUSE_MS = 2_000
const STOP_GRACE_MS = 700

/**
 * Keeps one node running. When the node's process exits, starts the next node immediately.
 *
 * @param boot starts a process and replays the journal; must leave no process behind if it rejects
 */
export function superviseNode(
  boot: (signal: AbortSignal) => Promise<LiveNode>,
  onDeath: (pid: number, reason: string) => void,
): Supervisor {
  const closing = new AbortController()
  const { signal } = closing
  let live: LiveNode | undefined
  let shortLives = 0
  let failure: unknown
  let next = start()

  function start(): Promise<LiveNode> {
    failure = undefined
    const booting = bootPatiently()
    // Callers of `node` receive the error. If there are none, the rejection would be unhandled.
    booting.catch((error: unknown) => {
      failure = error
    })
    return booting
  }

  async function bootPatiently(): Promise<LiveNode> {
    const pause = Math.max(0, shortLives - MAX_EARLY_EXITS) * PAUSE_MS
    if (pause > 0) await sleep(Math.min(pause, MAX_PAUSE_MS), signal).catch(() => {})
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) throw closedError()
      try {
        return watch(await boot(signal))
      } catch (error) {
        if (signal.aborted) throw closedError()
        if (!isUnreachable(error) || attempt === MAX_BOOT_ATTEMPTS) throw error
        await sleep(attempt * 200, signal).catch(() => {})
      }
    }
  }

  function watch(node: LiveNode): LiveNode {
    live = node
    const since = performance.now()
    node.process.exited.then((reason) => {
      node.isAlive = false
      node.rpc.close()
      live = undefined
      if (signal.aborted) return
      shortLives = performance.now() - since < SHORT_LIFE_MS ? shortLives + 1 : 0
      onDeath(node.process.pid, reason)
      next = start()
    })
    return node
  }

  return {
    async node() {
      if (signal.aborted) throw closedError()
      // Retry a start that failed for a temporary reason.
      if (isUnreachable(failure)) next = start()
      return next
    },
    current: () => live,
    async replace(node) {
      node.process.kill()
      await node.process.exited
    },
    async close() {
      closing.abort()
      // An aborted boot has already killed its process, so only a read of the journal could delay this.
      const node = await Promise.race([next.catch(() => undefined), sleep(STOP_GRACE_MS)])
      await node?.process.stop(STOP_GRACE_MS)
    },
  }
}

function closedError() {
  return nodeUnreachableError('was shut down')
}
