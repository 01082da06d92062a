import { createHash } from 'node:crypto'
import { parseCid } from '../../../ipfs/cid.ts'
import type { BlockTable } from '../../store/block-table.ts'
import type { StoredFiles } from '../../store/stored-files.ts'
import type { FlatFiles } from '../flat-files.ts'
import { readChecked } from './checked-read.ts'
import type { RemoteFiles } from './remote-files.ts'

export interface RemoteFlatFilesOptions {
  /** Stores content until it is sent. It also has the files from before the remote storage was configured. */
  local: FlatFiles
  remote: RemoteFiles
  stored: StoredFiles
  blocks: BlockTable
}

/**
 * Returns files in a remote storage, with their CIDs as keys. Content is buffered in the data directory until its CID
 * is known and it is sent. Older files are read from the data directory.
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
          if (parsed === null) throw new Error(`${cid} is not a CID of this storage`)
          await remote.put(parsed, { size, sha256: hash.digest('hex'), read: spool.read })
          // If the process is killed before this call, the content doesn't count as stored. The next attempt finds it
          // in the remote storage and only records it.
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
