import { backoffMs } from '../../core/backoff.ts'
import { messageOf } from '../../core/errors.ts'
import { parseCid } from '../../ipfs/cid.ts'
import { blocksBelow } from '../../ipfs/nodes.ts'
import type { Log } from '../log.ts'
import type { PublishPlaces } from '../storage/open-storage.ts'
import type { PinRequest } from '../storage/remote/pinning-service.ts'
import type { NodeBlocks } from '../storage/remote/remote-files.ts'
import type { BlockTable } from '../store/block-table.ts'
import type { Store } from '../store/open-store.ts'
import {
  addPublications,
  claimPublications,
  type Publication,
  readNextPublicationDueAt,
  settlePublication,
} from '../store/publications.ts'
import { type Loop, startLoop, type Turn } from './loop.ts'

const LEASE_MS = 120_000
/** Maximum number of roots that are published together, such as 16 directories of 200 metadata files. */
const ROOTS_PER_BATCH = 16
const MAX_CONCURRENT_PINS = 8

export interface PublishContext {
  store: Store
  now: () => number
  log: Log
  retryMs?: ((attempts: number) => number) | undefined
}

/** Starts the loops that publish stored content to an IPFS node and pin it with a pinning service. */
export function startPublishLoops(
  context: PublishContext,
  { blocks, node, pinning }: PublishPlaces,
): Pick<Loop, 'stop'> {
  const { log } = context
  const loops: Loop[] = []
  if (node !== null) {
    const step = createNodeStep(context, { node, blocks, next: pinning === null ? null : 'pins' })
    loops.push(startLoop('publish', step, log))
  }
  if (pinning !== null) loops.push(startLoop('pin', createPinStep(context, pinning), log))
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

/**
 * Creates a turn that publishes metadata and small files to an IPFS node. The block table keeps the published blocks,
 * so nothing is lost if the node fails. Publishing is retried until it succeeds.
 *
 * @param next the target to publish to after the node; null if the node is the last target
 */
function createNodeStep(
  context: PublishContext,
  { node, blocks, next }: { node: NodeBlocks; blocks: BlockTable; next: 'pins' | null },
): Turn {
  const { store, now, log } = context
  const postpone = createPostponer(context)

  const publish = async (group: readonly Publication[]): Promise<void> => {
    const cids = group.map(({ cid }) => cid)
    try {
      const roots = cids.flatMap((cid) => parseCid(cid) ?? [])
      const trees = await Promise.all(cids.map((cid) => blocksBelow(blocks, cid)))
      const unique = new Map(trees.flatMap((tree) => tree ?? []).map((block) => [block.cid.toString(), block]))
      await node.publish(roots, [...unique.values()])
      await store.transaction(async (db) => {
        for (const each of group) {
          await settlePublication(db, each, { state: 'done', attempts: each.attempts, nextAttemptAt: 0 })
        }
        if (next !== null) await addPublications(db, next, cids)
      })
    } catch (error) {
      log.error({ cids, error: messageOf(error) }, 'content could not be stored on the IPFS node')
      for (const each of group) await postpone(each, 'waiting')
    }
  }

  return async () => {
    const claimed = await claimPublications(store.db, 'node', { now: now(), leaseMs: LEASE_MS, limit: ROOTS_PER_BATCH })
    // Retry failed content separately, so that it doesn't block the rest of its group.
    const fresh = claimed.filter(({ attempts }) => attempts === 0)
    if (fresh.length > 0) await publish(fresh)
    for (const each of claimed.filter(({ attempts }) => attempts > 0)) await publish([each])
    if (claimed.length === ROOTS_PER_BATCH) return 0
    return await msUntilDue(store, 'node', now())
  }
}

/** Creates a turn that requests pins of content from a pinning service. Each request is retried until it succeeds. */
function createPinStep(context: PublishContext, { service, origins }: NonNullable<PublishPlaces['pinning']>): Turn {
  const { store, now, log } = context
  const postpone = createPostponer(context)

  const findOrCreatePin = async (publication: Publication): Promise<PinRequest> => {
    // Look up the pin first, because an earlier attempt whose response was lost may have succeeded.
    const earlierPin = publication.generation > 1 ? await service.find(publication.cid) : null
    return earlierPin ?? (await service.pin(publication.cid, await origins()))
  }

  const advance = async (publication: Publication): Promise<void> => {
    const { cid, reference, state } = publication
    try {
      const request =
        state === 'asked' && reference !== null ? await service.status(reference) : await findOrCreatePin(publication)
      if (request?.status === 'failed') {
        const why = request.details ?? 'the service returned no reason'
        log.warn({ cid, why }, 'the pinning service could not pin content; the request will be repeated')
      }
      if (request === null || request.status === 'failed') {
        return await postpone(publication, 'waiting', null)
      }
      if (request.status !== 'pinned') return await postpone(publication, 'asked', request.id)
      const done = { state: 'done' as const, reference: request.id, attempts: publication.attempts, nextAttemptAt: 0 }
      await settlePublication(store.db, publication, done)
    } catch (error) {
      log.error({ cid, error: messageOf(error) }, 'content could not be sent to the pinning service')
      await postpone(publication, state)
    }
  }

  return async () => {
    const claimed = await claimPublications(store.db, 'pins', {
      now: now(),
      leaseMs: LEASE_MS,
      limit: MAX_CONCURRENT_PINS,
    })
    await Promise.all(claimed.map(advance))
    if (claimed.length === MAX_CONCURRENT_PINS) return 0
    return await msUntilDue(store, 'pins', now())
  }
}

function createPostponer({ store, now, retryMs = backoffMs }: PublishContext) {
  return async (publication: Publication, state: Publication['state'], reference?: string | null): Promise<void> => {
    const attempts = publication.attempts + 1
    const change = { state, attempts, nextAttemptAt: now() + retryMs(attempts) }
    await settlePublication(store.db, publication, reference === undefined ? change : { ...change, reference })
  }
}

async function msUntilDue(store: Store, target: Publication['target'], now: number): Promise<number | null> {
  const dueAt = await readNextPublicationDueAt(store.db, target)
  return dueAt === null ? null : Math.max(50, dueAt - now)
}
