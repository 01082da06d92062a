import { createHash } from 'node:crypto'
import type { BlockTable } from '../../store/block-table.ts'
import type { StoredFiles } from '../../store/stored-files.ts'
import { parseCid } from '../cid.ts'
import type { FlatFiles } from '../flat-files.ts'
import { readChecked } from './checked-read.ts'
import type { RemoteFiles } from './remote-files.ts'

export interface RemoteFlatFilesOptions {
  /** Holds content until it is sent, and what was stored before there was another place. */
  local: FlatFiles
  remote: RemoteFiles
  stored: StoredFiles
  blocks: BlockTable
}

/**
 * Files in another place than the data dir. They wait in the data dir until their CID is known and they are sent: the
 * key is the CID. What the data dir holds from before is read from there.
 */
export function remoteFlatFiles({ local, remote, stored, blocks }: RemoteFlatFilesOptions): FlatFiles {
  return {
    async create() {
      const spool = await local.create()
      const hash = createHash('sha256')
      let size = 0
      return {
        ...spool,
        async write(bytes) {
          hash.update(bytes)
          size += bytes.length
          await spool.write(bytes)
        },
        async keepAs(cid, nodes) {
          const parsed = parseCid(cid)
          if (parsed === null) throw new Error(`${cid} is no CID of ours`)
          await remote.put(parsed, { size, sha256: hash.digest('hex'), read: spool.read })
          // Killed before this, nothing is stored; the next attempt finds the content there and only notes it.
          await stored.put(cid, size, nodes)
          await spool.discard()
        },
      }
    },

    keeps: async (cid, size) => (await stored.size(cid)) === size,

    size: async (cid) => (await stored.size(cid)) ?? (await local.size(cid)),

    async *stream(cid, size, range) {
      const parsed = parseCid(cid)
      if (parsed === null || (await stored.size(cid)) === null) return void (yield* local.stream(cid, size, range))
      yield* readChecked(remote, blocks, { cid: parsed, size }, range)
    },
  }
}
