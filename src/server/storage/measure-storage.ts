import type { ByteRange } from '../../ipfs/cid.ts'
import type { FileStorage, StoredContent } from './adapter.ts'

/** An operation on stored files, its outcome, and its duration. */
export interface StorageObservation {
  operation: 'add' | 'open' | 'read' | 'keep'
  /** The outcome. `absent` means that the storage doesn't have the content, which is a valid result. */
  outcome: 'done' | 'absent' | 'failed'
  seconds: number
  /** Number of bytes that were written or read. */
  bytes: number
}

/**
 * Wraps a storage and reports its operations. The duration of `add` includes the time to get the content, and the
 * duration of `read` includes the time that the reader takes.
 */
export function measureStorage(storage: FileStorage, report: (observation: StorageObservation) => void): FileStorage {
  const time = async <Result>(
    operation: StorageObservation['operation'],
    work: () => Promise<Result>,
    facts: (result: Result) => Partial<StorageObservation> = () => ({}),
  ): Promise<Result> => {
    const since = performance.now()
    const seconds = () => (performance.now() - since) / 1000
    try {
      const result = await work()
      report({ operation, outcome: 'done', seconds: seconds(), bytes: 0, ...facts(result) })
      return result
    } catch (error) {
      report({ operation, outcome: 'failed', seconds: seconds(), bytes: 0 })
      throw error
    }
  }

  const watchContent = (content: StoredContent): StoredContent => {
    if (content.type === 'directory') return content
    return { ...content, stream: (range) => read(content, range) }
  }

  async function* read(content: Extract<StoredContent, { type: 'file' }>, range: ByteRange | undefined) {
    const since = performance.now()
    let bytes = 0
    // A read also counts as successful if the reader stops early.
    let outcome: StorageObservation['outcome'] = 'done'
    try {
      for await (const part of content.stream(range)) {
        bytes += part.length
        yield part
      }
    } catch (error) {
      outcome = 'failed'
      throw error
    } finally {
      report({ operation: 'read', outcome, seconds: (performance.now() - since) / 1000, bytes })
    }
  }

  return {
    add: (content, options) =>
      time(
        'add',
        () => storage.add(content, options),
        ({ size }) => ({ bytes: size }),
      ),
    async open(cid, path, options) {
      const opened = await time(
        'open',
        () => storage.open(cid, path, options),
        (content) => ({ outcome: content === null ? 'absent' : 'done' }),
      )
      return opened === null ? null : watchContent(opened)
    },
    block: (cid) => storage.block(cid),
    has: (cid) => storage.has(cid),
    putBlocks: (blocks, root) => storage.putBlocks(blocks, root),
    pin: (cid) => time('keep', () => storage.pin(cid)),
  }
}
