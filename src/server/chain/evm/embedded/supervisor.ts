import { sleep } from '../../../../core/time.ts'
import { isUnreachable } from '../../rpc/rpc-answer.ts'
import type { AnvilProcess } from './anvil-process.ts'
import type { Tip } from './mine.ts'
import { type NodeRpc, unreachable } from './node-rpc.ts'

/** A node that has replayed the journal and serves. */
export interface LiveNode {
  readonly rpc: NodeRpc
  readonly process: AnvilProcess
  /** Where the chain stands on this node; kept up to date by the sequencer. */
  readonly tip: Tip
  /** False from the moment the death of the process is noticed. */
  alive: boolean
}

export interface Supervisor {
  /** The node to use now: waits for a restart and its replay. Rejects when the chain is closed or can't be rebuilt. */
  node(): Promise<LiveNode>
  /** The node that serves, if one does. */
  current(): LiveNode | undefined
  /** Ends this node, whose state is in doubt. The next one is built from the journal. */
  replace(node: LiveNode): Promise<void>
  close(): Promise<void>
}

const BOOT_ATTEMPTS = 3
/** When several nodes in a row lived no longer than this, the next comes after a pause: a sick machine isn't kept busy. */
const SHORT_LIFE_MS = 1_000
const SHORT_LIVES_FORGIVEN = 3
const PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000
const STOP_GRACE_MS = 700

/**
 * Keeps one node running: whenever its process is gone, the next is booted at once.
 *
 * @param boot starts a process and replays the journal on it; leaves no process behind when it rejects
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
    // Whoever asks for the node gets the error; nobody may be asking.
    booting.catch((error: unknown) => {
      failure = error
    })
    return booting
  }

  async function bootPatiently(): Promise<LiveNode> {
    const pause = Math.max(0, shortLives - SHORT_LIVES_FORGIVEN) * PAUSE_MS
    if (pause > 0) await sleep(Math.min(pause, LONGEST_PAUSE_MS), signal).catch(() => {})
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) throw closed()
      try {
        return watch(await boot(signal))
      } catch (error) {
        if (signal.aborted) throw closed()
        if (!isUnreachable(error) || attempt === BOOT_ATTEMPTS) throw error
        await sleep(attempt * 200, signal).catch(() => {})
      }
    }
  }

  function watch(node: LiveNode): LiveNode {
    live = node
    const since = performance.now()
    node.process.exited.then((reason) => {
      node.alive = false
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
      if (signal.aborted) throw closed()
      // A start that failed for a passing reason is tried again when somebody needs the chain.
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
      // A boot under way has killed its process by now; all that could hold it up is the journal.
      const node = await Promise.race([next.catch(() => undefined), sleep(STOP_GRACE_MS)])
      await node?.process.stop(STOP_GRACE_MS)
    },
  }
}

function closed() {
  return unreachable('is closed')
}
