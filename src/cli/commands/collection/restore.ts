import { resolve } from 'node:path'
import type { TokenCounts } from '../../../archive/count-readable-tokens.ts'
import type { ArchivedBlocks, OpenArchive } from '../../../archive/read-archive.ts'
import { findRunningBackend } from '../../../config/local-backend.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { rejectOnAbort } from '../../../core/or-aborted.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { GdnCommand } from '../../command.ts'
import {
  addBackendFlags,
  type BackendFlags,
  type DatabaseOptions,
  resolveAdministeredDatabase,
} from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { type Io, safe } from '../../io/io.ts'
import { withProgress } from '../../io/progress.ts'
import { createOutput, type Output, type View } from '../../render/output.ts'
import { printProblems } from './archive/print-problems.ts'

export type RestoreFlags = OutputFlags & BackendFlags & { intact?: boolean }

const FIELDS = [
  'file',
  'contract_address',
  'blockchain',
  'tokens',
  'answering',
  'blocks',
  'bytes',
  'unreadable',
  'problems',
  'publishes',
]
const VIEW: View = {
  fields: FIELDS,
  columns: FIELDS.filter((field) => field !== 'problems'),
  id: 'file',
  card: ({ problems: _listed, ...record }) => Object.entries(record),
}

export function command(deps: Deps, run = restore): GdnCommand {
  return new GdnCommand({
    about:
      "The command checks every block of an archive against its CID, and stores the blocks in the database of a backend, which may be running. If there is no database, the command creates it. From then on, the backend serves the files at /ipfs, under the same CIDs and paths. If the backend's configuration has an IPFS node or a pinning service, the backend also publishes the files there. Token URIs that are https or ar URLs still point to the original servers. The field `answering` counts the tokens whose metadata the backend then serves. If the archive lacks files, the command lists them after it has restored the others, and the exit code is 7.",
    examples: [
      ['Restore an archive into the local backend', 'gdn collection restore tides.car'],
      ['Restore an archive into another data directory', 'gdn collection restore tides.car --data-dir ./data'],
    ],
  })
    .argument('<file>')
    .with(addBackendFlags)
    .switchFlag('--intact', 'Restore the intact blocks of a damaged archive')
    .with(addOutputFlags)
    .action(async (file: string, flags: RestoreFlags) => await run(deps, file, flags))
}

export async function restore(deps: Deps, archivePath: string, flags: RestoreFlags): Promise<void> {
  const { io, cwd, signals } = deps
  const output = createOutput(io, flags, VIEW)
  const path = resolve(cwd, archivePath)
  const place = await resolveAdministeredDatabase(deps, flags)
  const [
    { openArchive, openDamagedArchive },
    { countReadableTokens },
    { archivedRoots },
    { rootsWithoutIndex },
    { restoreBlocks },
  ] = await Promise.all([
    import('../../../archive/read-archive.ts'),
    import('../../../archive/count-readable-tokens.ts'),
    import('../../../archive/archived-roots.ts'),
    import('../../../archive/complete-content.ts'),
    import('../../../server/database/restore-blocks.ts'),
  ])
  const damage = damageNotes(io)
  const archive = await withProgress(io, 'Checking the archive', async ({ update }) => {
    const onBlock = (bytesRead: number, totalBytes: number) =>
      update(`Checking the archive: ${Math.floor((bytesRead / totalBytes) * 100)} %`)
    const options = { signal: signals.signal, onBlock }
    if (flags.intact === true) return await openDamagedArchive(path, { ...options, onDamage: damage.note })
    const opened = await openArchive(path, options)
    return { ...opened, index: opened }
  })
  try {
    damage.end()
    const { index } = archive
    const tokenCounts = index === null ? null : await countReadableTokens(index)
    const roots = index === null ? rootsWithoutIndex(archive) : archivedRoots(index)
    const { publishes } = await withProgress(io, `Restoring ${count(archive.blockCount, 'block')}`, () =>
      rejectOnAbort(restoreBlocks(place, { blocks: readBlocks(archive), roots }), signals.signal),
    )
    const { blockCount, fileBytes } = archive
    const restored = { file: path, blocks: blockCount, bytes: fileBytes, publishes }
    const served = await servingText(place, flags)
    if (index !== null && tokenCounts !== null)
      return await reportFiles({ io, output, served }, index, restored, tokenCounts)
    await output.one({ ...UNKNOWN_FIELDS, ...restored })
    io.note(`Restored the intact blocks of ${safe(path)}. ${served}`)
    throw incompleteArchiveError('has a damaged index, so the lost files are unknown')
  } finally {
    await archive.close()
  }
}

/**
 * Returns a sentence about how the files are served. With PostgreSQL, the sentence assumes that a backend is running,
 * because gdn can't check.
 */
async function servingText({ dataDir, database }: DatabaseOptions, flags: RestoreFlags): Promise<string> {
  if (database.url !== undefined || (await findRunningBackend(dataDir)) !== null)
    return 'The backend serves the restored files at /ipfs.'
  const dataDirFlag = flags.dataDir === undefined ? '' : ` --data-dir ${shellWord(safe(flags.dataDir))}`
  return `Run \`gdn serve${dataDirFlag}\` to serve the restored files at /ipfs.`
}

/** The fields of an archive that are unknown if its index can't be read. */
const UNKNOWN_FIELDS = {
  contract_address: null,
  blockchain: null,
  tokens: null,
  answering: null,
  unreadable: null,
  problems: [],
}

/**
 * Reports the files that the archive lacks.
 *
 * @throws GdnError `unreadable_files` if the archive lacks the metadata of a token, or a file
 */
async function reportFiles(
  { io, output, served }: { io: Io; output: Output; served: string },
  archive: OpenArchive,
  restored: { file: string; blocks: number; bytes: number; publishes: boolean },
  { readable, notIpfs }: TokenCounts,
): Promise<void> {
  const { findMissingFiles } = await import('../../../archive/missing-files.ts')
  const { contract, blockchain, tokens } = archive.header
  const missing = await findMissingFiles(archive)
  await output.one({
    ...{ contract_address: contract, blockchain, tokens, answering: readable },
    ...{ ...restored, unreadable: missing.all, problems: missing.first },
  })
  io.note(`Restored ${safe(restored.file)}. ${served}`)
  printProblems(io, missing.first, missing.all)
  if (notIpfs > 0)
    io.note(`The backend can't serve the metadata of ${count(notIpfs, 'token')} whose URI isn't an ipfs URL.`)
  const lost = tokens - readable - notIpfs
  if (lost > 0) throw incompleteArchiveError(`lacks the metadata of ${lost} of ${count(tokens, 'token')}`)
  if (missing.all > 0) throw incompleteArchiveError(`lacks ${count(missing.all, 'file')} of ${count(tokens, 'token')}`)
}

/** Maximum number of damaged parts to print. */
const MAX_SHOWN_DAMAGE_NOTES = 10

function damageNotes(io: Io) {
  let all = 0
  return {
    note(error: GdnError) {
      all++
      if (all <= MAX_SHOWN_DAMAGE_NOTES) io.warn(`${safe(error.message)}.`)
    },
    end() {
      if (all > MAX_SHOWN_DAMAGE_NOTES) io.warn(`The file has ${all - MAX_SHOWN_DAMAGE_NOTES} more damaged parts.`)
    },
  }
}

async function* readBlocks(archive: ArchivedBlocks) {
  for await (const { cid, bytes } of archive.all()) yield { cid: cid.toString(), bytes }
}

const incompleteArchiveError = (problem: string) =>
  new GdnError('unreadable_files', `the archive ${problem}`, {
    hint: 'Everything else was restored. `gdn collection check` shows which files can be read elsewhere.',
  })
