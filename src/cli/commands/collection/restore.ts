import { resolve } from 'node:path'
import type { OpenArchive } from '../../../archive/read-archive.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { orAborted } from '../../../core/or-aborted.ts'
import { GdnCommand } from '../../command.ts'
import { administeredPlace } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { withProgress } from '../../io/progress.ts'
import { createOutput } from '../../render/output.ts'
import type { View } from '../../render/view.ts'
import { addDatabasePlace, type DatabaseFlags } from '../db/db-place.ts'

export type RestoreFlags = OutputFlags & DatabaseFlags

const FIELDS = ['file', 'contract_address', 'blockchain', 'tokens', 'answering', 'blocks', 'bytes', 'publishes']
const VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'file' }

export function command(deps: Deps, run = restore): GdnCommand {
  const restoreCommand = new GdnCommand({
    about:
      "The command checks every block of an archive against its CID, and stores the blocks in the database of a backend, which may be running. It creates the database if there is none. From then on, the backend serves the files at /ipfs, under the same CIDs and paths. If the backend's configuration has an IPFS node or a pinning service, the backend also publishes the files there. Token URIs with https and ar URLs still lead to their own servers.",
    examples: [
      ['Restore an archive into the local backend', 'gdn collection restore tides.car'],
      ['Restore it into another data directory', 'gdn collection restore tides.car --data-dir ./data'],
    ],
  })
  restoreCommand.argument('<file>')
  addDatabasePlace(restoreCommand)
  addOutputFlags(restoreCommand)
  return restoreCommand.action(async (file: string, flags: RestoreFlags) => await run(deps, file, flags))
}

export async function restore(deps: Deps, given: string, flags: RestoreFlags): Promise<void> {
  const { io, cwd, signals } = deps
  const output = createOutput(io, flags, VIEW)
  const path = resolve(cwd, given)
  const place = await administeredPlace(deps, flags)
  const [{ openArchive }, { answeringTokens }, { archivedRoots }, { restoreBlocks }] = await Promise.all([
    import('../../../archive/read-archive.ts'),
    import('../../../archive/answering-tokens.ts'),
    import('../../../archive/archived-roots.ts'),
    import('../../../server/database/restore-blocks.ts'),
  ])
  const archive = await withProgress(io, 'Checking the archive', ({ update }) => {
    const onBlock = (read: number, all: number) => update(`Checking the archive: ${Math.floor((read / all) * 100)} %`)
    return openArchive(path, { signal: signals.signal, onBlock })
  })
  try {
    const { answering, elsewhere } = await answeringTokens(archive)
    const { publishes } = await withProgress(io, `Restoring ${count(archive.blocks, 'block')}`, () =>
      orAborted(restoreBlocks(place, { blocks: blocksOf(archive), roots: archivedRoots(archive) }), signals.signal),
    )
    const { contract, blockchain, tokens } = archive.header
    const { blocks, bytes } = archive
    await output.one({
      file: path,
      contract_address: contract,
      blockchain,
      tokens,
      answering,
      blocks,
      bytes,
      publishes,
    })
    io.note(`Restored ${safe(path)}.`)
    if (elsewhere > 0)
      io.note(`The URIs of ${count(elsewhere, 'token')} are no ipfs URLs: a backend can't answer them.`)
    const lost = archive.header.tokens - answering - elsewhere
    if (lost > 0) throw lostTokens(lost, archive.header.tokens)
  } finally {
    await archive.close()
  }
}

async function* blocksOf(archive: OpenArchive) {
  for await (const { cid, bytes } of archive.all()) yield { cid: cid.toString(), bytes }
}

const lostTokens = (lost: number, all: number) =>
  new GdnError('unreadable_files', `the archive has no metadata of ${lost} of ${count(all, 'token')}`, {
    hint: 'Everything else was restored. `gdn collection check` shows which files can be read elsewhere.',
  })
