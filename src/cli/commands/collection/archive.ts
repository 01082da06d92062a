import { basename } from 'node:path'
import type { ArchiveStore } from '../../../archive/archive-store.ts'
import { type ArchiveProblem, indexTokens, listProblems } from '../../../archive/index-lines.ts'
import type { OpenArchive } from '../../../archive/read-archive.ts'
import type { WrittenArchive } from '../../../archive/write-archive.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { pathExists } from '../../../core/path-exists.ts'
import { GdnCommand, requiredFlagError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, notEmpty, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type View } from '../../render/output.ts'
import { resolveOutputFile } from '../../sheet/resolve-output-file.ts'
import { printProblems } from './archive/print-problems.ts'
import { addReadingFlags, type ReadingFlags, toArchiveLimits } from './archive/reading-flags.ts'
import { refuseOtherArchive } from './archive/refuse-other.ts'
import { type ChainContract, resolveChainContract } from './chain-contract.ts'

export interface ArchiveFlags extends OutputFlags, ReadingFlags {
  to?: string
  force?: boolean
  wholeDirectory?: boolean
}

const FIELDS = [
  'file',
  'root',
  'contract_address',
  'blockchain',
  'standard',
  'block_number',
  'block_hash',
  'tokens',
  'files',
  'blocks',
  'bytes',
  'unreadable',
  'kept',
  'reused',
  'problems',
  'kept_files',
]
const VIEW: View = {
  fields: FIELDS,
  columns: FIELDS.slice(0, -2),
  id: 'file',
  card: ({ problems: _listed, kept_files: _kept, ...record }) => Object.entries(record),
}

/** Maximum number of problems in the output. The archive's index lists all of them. */
const MAX_LISTED_PROBLEMS = 1000

export function command(deps: Deps, run = archive): GdnCommand {
  return new GdnCommand({
    about:
      'The command reads the tokens of any ERC-721 or ERC-1155 contract at a block, and fetches their metadata and every file that the metadata references. It writes one CARv1 file, which `ipfs dag import` and @ipld/car can read. The root of the file is an index in JSON Lines with the URL, CID, size and SHA-256 hash of each file. The command fetches files at ipfs URLs as blocks, and checks each block against its CID. It imports files at https, ar and data URLs, and marks them in the index as not verifiable. You can stop the command at any time. To resume, run the same command again. If some files cannot be read, the archive contains the other files, and the exit code is 7.',
    examples: [
      [
        'Archive any NFT contract',
        'gdn collection archive 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon \\',
        '  --rpc-url https://node.example --gateway https://trustless-gateway.link --to tides.car',
      ],
      ['Archive a collection of the local backend', 'gdn collection archive -c "Tidal Hours" --local --to tides.car'],
    ],
  })
    .with(addReadingFlags)
    .valueFlag('--to <file>', 'File to write, such as tides.car', notEmpty)
    .switchFlag('--force', 'Overwrite an existing archive, but keep its files that can no longer be read')
    .switchFlag('--whole-directory', 'Also archive unreferenced files in the same directories')
    .with(addServerFlags, addOutputFlags)
    .action(async (contract: string | undefined, flags: ArchiveFlags) => await run(deps, contract, flags))
}

export async function archive(deps: Deps, typed: string | undefined, flags: ArchiveFlags): Promise<void> {
  const { io, signals } = deps
  const output = createOutput(io, flags, VIEW)
  if (flags.to === undefined) throw requiredFlagError('--to', 'Add the file to write, such as --to tides.car.')
  const target = await resolveChainContract(deps, typed, flags)
  const { path, replace } = await resolveOutputFile(deps, flags.to, flags)
  const previous = replace && (await pathExists(path)) ? await previousArchive(path, target, signals.signal) : null
  const written = await write(deps, path, { target, flags, previous }).finally(() => previous?.close())
  await output.one(archiveRecord(path, written))
  io.note(`Wrote ${safe(path)}`)
  const { reused } = written
  if (reused > 0) {
    const isOne = reused === 1
    io.note(
      `gdn reused ${count(reused, 'file')} with ${isOne ? 'an ipfs URL' : 'ipfs URLs'} from the existing archive without reading ${isOne ? 'it' : 'them'} again. \`gdn collection check\` shows whether the gateway still has ${isOne ? 'the file' : 'these files'}.`,
    )
  }
  if (written.unreadable > 0) throw incompleteError(deps, path, written)
}

/**
 * Returns the archive that the new one replaces.
 *
 * @throws GdnError if the file is damaged or isn't an archive, or if it is the archive of a different collection, whose
 * content would be lost
 */
async function previousArchive(path: string, target: ChainContract, signal: AbortSignal): Promise<OpenArchive> {
  const { openArchive } = await import('../../../archive/read-archive.ts')
  const archive = await openArchive(path, { signal }).catch((error: unknown) => {
    throw error instanceof GdnError ? error.with({ hint: UNCHANGED_FILE_HINT }) : error
  })
  try {
    refuseOtherArchive(archive, target, { flag: '--to', hint: UNCHANGED_FILE_HINT })
  } catch (error) {
    await archive.close()
    throw error
  }
  return archive
}

const UNCHANGED_FILE_HINT = 'The file was not changed. Use another file name, or delete this file first.'

interface ArchiveRequest {
  target: ChainContract
  flags: ArchiveFlags
  previous: OpenArchive | null
}

async function write(deps: Deps, path: string, { target, flags, previous }: ArchiveRequest): Promise<ArchiveReport> {
  const [{ openPartial }, { readCollection }, { writeArchive }, { seedStore }] = await Promise.all([
    import('./archive/partial.ts'),
    import('./archive/read-collection.ts'),
    import('../../../archive/write-archive.ts'),
    import('../../../archive/seed-store.ts'),
  ])
  const { signal } = deps.signals
  const { block, wholeDirectory = false } = flags
  return await openPartial(path, { target, block, wholeDirectory }, async (store) => {
    const wanted = block === undefined ? null : { number: block }
    let keptBefore = 0
    const onListed = async () => {
      if (previous !== null) keptBefore = await seedStore(store, previous, signal)
    }
    const rules = { limits: toArchiveLimits(flags), wanted, wholeDirectory, keepsFiles: true }
    const keptFiles: ArchiveProblem[] = []
    let keptNow = 0
    const noteKept = (file: ArchiveProblem) => {
      if (++keptNow <= MAX_LISTED_PROBLEMS) keptFiles.push(file)
    }
    const onKept = previous === null ? undefined : noteKept
    const archived = await readCollection(deps, { target, flags, store, ...rules, onListed, onKept })
    if (keptNow > 0) {
      printProblems(deps.io, keptFiles, keptNow)
      deps.io.warn(`Kept ${count(keptNow, 'file')} from the existing archive, because the originals can't be read now.`)
    }
    const problems = readProblems(store)
    const [readable, unreadable] = [store.count('readable'), store.count('problems')]
    if (unreadable > 0 && readable < keptBefore) {
      printProblems(deps.io, problems, unreadable)
      throw fewerFilesError(path, keptBefore, readable)
    }
    const counts = { kept: keptNow, keptFiles, reused: store.count('reused') }
    return { ...(await writeArchive(store, archived, path, signal)), files: readable, problems, ...counts }
  })
}

interface ArchiveReport extends WrittenArchive {
  /** Number of files in the archive. */
  files: number
  problems: ArchiveProblem[]
  /** Number of files that are kept from the existing archive, because they can't be read now. */
  kept: number
  keptFiles: ArchiveProblem[]
  /** Number of files that are reused from the existing archive without being read again. */
  reused: number
}

function readProblems(store: ArchiveStore): ArchiveProblem[] {
  const problems: ArchiveProblem[] = []
  for (const problem of listProblems(indexTokens(store))) {
    problems.push(problem)
    if (problems.length === MAX_LISTED_PROBLEMS) break
  }
  return problems
}

function archiveRecord(file: string, written: ArchiveReport) {
  const { root, contract, blockchain, standard, block, tokens, files, blocks, bytes, unreadable, problems } = written
  const at = { block_number: block.number, block_hash: block.hash }
  const facts = { file, root, contract_address: contract, blockchain, standard, ...at }
  const { kept, reused, keptFiles: kept_files } = written
  return { ...facts, tokens, files, blocks, bytes, unreadable, kept, reused, problems, kept_files }
}

const fewerFilesError = (path: string, before: number, now: number) =>
  new GdnError('unreadable_files', `${path} has ${count(before, 'file')}, but only ${now} can be read now`, {
    place: { flag: '--to' },
    hint: `The existing archive was kept. ${basename(path)}.partial contains the files that could be read. Run the same command again to read the others, or use another file with --to.`,
  })

/** Prints the problems of the archive. Returns the error of the command. */
function incompleteError(deps: Deps, path: string, reported: ArchiveReport): GdnError {
  const { unreadable, tokens, files, problems } = reported
  printProblems(deps.io, problems, unreadable)
  return new GdnError(
    'unreadable_files',
    `${count(unreadable, 'file')} of ${count(tokens, 'token')} could not be read`,
    {
      hint: `${files > 0 ? `${basename(path)} contains the others. ` : ''}Add --force to read the missing files again, and --gateway <url> to use another gateway.`,
    },
  )
}
