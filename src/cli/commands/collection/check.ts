import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { ArchiveFinding } from '../../../archive/compare.ts'
import type { OpenArchive } from '../../../archive/read-archive.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { makePrivateDirectory } from '../../../core/private-file.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, notEmpty, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { withProgress } from '../../io/progress.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { SHOWN_PROBLEMS } from './archive/print-problems.ts'
import { addReadingFlags, type ReadingFlags, toArchiveLimits } from './archive/reading-flags.ts'
import { refuseOtherArchive } from './archive/refuse-other.ts'
import { type ChainContract, resolveChainContract } from './chain-contract.ts'

export interface CheckFlags extends Omit<OutputFlags, 'output'>, ReadingFlags {
  output?: OutputFlags['output'] | 'markdown'
  archive?: string
}

const FIELDS = ['token_id', 'kind', 'field', 'url', 'error']
/** Maximum length of a field name in a message. */
const MAX_FIELD_CHARACTERS = 60
const VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'token_id', plural: 'problems', yields: 'url' }

export function command(deps: Deps, run = check): GdnCommand {
  return new GdnCommand({
    about:
      'Like gdn collection archive, the command fetches the metadata and every file of the tokens of an ERC-721 or ERC-1155 contract. It does not store the files. It lists the files that cannot be read, or whose content does not match their CID. With --archive, it also lists differences from an archive, files that the archive lacks, and tokens that were updated, minted or burned later. The exit code is 7 if a file cannot be read or differs. With --archive, it is also 7 if a token was updated, or if the archive lacks a token or a file. With -o markdown, the command prints a report that you can post as an issue.',
    examples: [
      [
        'Check a collection in a scheduled job',
        'gdn collection check 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon \\',
        '  --rpc-url https://node.example --gateway https://trustless-gateway.link -o markdown > issue.md',
      ],
      ['Compare a collection with its archive', 'gdn collection check -c "Tidal Hours" --local --archive tides.car'],
    ],
  })
    .with(addReadingFlags)
    .valueFlag('--archive <file>', 'Archive to compare the collection with', notEmpty)
    .with(addServerFlags, (own) => addOutputFlags(own, ['markdown']))
    .action(async (contract: string | undefined, flags: CheckFlags) => await run(deps, contract, flags))
}

export async function check(deps: Deps, typed: string | undefined, { output: mode, ...flags }: CheckFlags) {
  const { io, signals, cwd } = deps
  const isMarkdown = mode === 'markdown'
  if (isMarkdown && flags.json) {
    throw new GdnError('usage', '--json and --output markdown contradict each other', { hint: 'Use one of them.' })
  }
  const output = createOutput(io, isMarkdown || mode === undefined ? flags : { ...flags, output: mode }, VIEW)
  const target = await resolveChainContract(deps, typed, flags)
  const { openArchive } = await import('../../../archive/read-archive.ts')
  const archive =
    flags.archive === undefined ? null : await openArchive(resolve(cwd, flags.archive), { signal: signals.signal })
  try {
    if (archive !== null) {
      refuseOtherArchive(archive, target, { flag: '--archive', hint: 'Use the archive of this collection.' })
    }
    const findings = await checkCollection(deps, target, flags, archive)
    const { list, tokens } = findings
    if (isMarkdown) {
      const { checkMarkdown } = await import('./archive/check-markdown.ts')
      await io.data(checkMarkdown(target.contract, tokens, list))
    } else {
      const shownProblems = output.mode === 'table' ? list.slice(0, SHOWN_PROBLEMS) : list
      await output.many(shownProblems as unknown as DataRecord[])
      const unlisted = count(list.length - shownProblems.length, 'more problem')
      if (shownProblems.length < list.length) io.warn(`Not shown: ${unlisted}. Add --json to list all of them.`)
    }
    const changed = collectChangedTokens(list)
    const isLost = ({ kind, token_id }: ArchiveFinding) =>
      kind === 'unreadable' || (kind === 'differs' && !changed.has(token_id))
    const lost = list.filter(isLost).length
    if (lost > 0) throw problemsError(lost, tokens)
    const missingFiles = list.filter(({ kind }) => kind === 'new' || kind === 'not_archived')
    if (archive !== null && missingFiles.length + changed.size > 0) {
      // On an embedded chain, tokens can't be compared at the archive's block, because earlier states aren't kept.
      const block = target.server === null && missingFiles.length === 0 ? archive.header.block.number : null
      throw outdatedError(String(flags.archive), { missingFiles, changed, block })
    }
    const matches = archive !== null && list.length === 0 ? ', and match the archive' : ''
    io.note(`All files of ${count(tokens, 'token')} can be read${matches}.`)
  } finally {
    await archive?.close()
  }
}

const problemsError = (lost: number, tokens: number) =>
  new GdnError('unreadable_files', `found ${count(lost, 'problem')} in the files of ${count(tokens, 'token')}`, {
    hint: 'Run the command again to rule out temporary failures. To serve the files of an archive, run `gdn collection restore`.',
  })

/**
 * Returns the tokens whose URI differs from the archive, such as updated NFTs. Null stands for the collection's
 * metadata.
 */
const collectChangedTokens = (list: readonly ArchiveFinding[]): ReadonlySet<string | null> =>
  new Set(
    list.flatMap(({ kind, field, url, token_id }) =>
      kind === 'differs' && field === null && url !== null ? [token_id] : [],
    ),
  )

interface ArchiveDifferences {
  missingFiles: readonly ArchiveFinding[]
  changed: ReadonlySet<string | null>
  /** The block of the archive, if the tokens can be compared at this block; null otherwise. */
  block: number | null
}

function outdatedError(path: string, { missingFiles, changed, block }: ArchiveDifferences): GdnError {
  const added = missingFiles.filter(({ kind }) => kind === 'new')
  const ofTokens = added.filter(({ token_id }) => token_id !== null).length
  const parts = [
    added.length > ofTokens ? ['the metadata of the collection'] : [],
    ofTokens > 0 ? [count(ofTokens, 'token')] : [],
    added.length < missingFiles.length
      ? [describeLackedFiles(missingFiles.filter(({ kind }) => kind === 'not_archived'))]
      : [],
  ].flat()
  const changes = changed.size === 0 ? [] : [`${changedText(changed)} changed after the archive was made`]
  const lacks = parts.length === 0 ? [] : [`the archive lacks ${parts.join(' and ')}`]
  const earlier = block === null ? '' : ` To compare the tokens at the archive's block, add \`--block ${block}\`.`
  return new GdnError('unreadable_files', [...changes, ...lacks].join(', and '), {
    place: { flag: '--archive' },
    hint: `All files can be read. Run \`gdn collection archive\` with the same flags, \`--to ${shellWord(safe(path))}\` and \`--force\`.${earlier}`,
  })
}

function changedText(changed: ReadonlySet<string | null>): string {
  const tokens = [...changed].filter((id) => id !== null)
  const [only] = tokens
  const tokensText = tokens.length === 1 ? `token ${only}` : count(tokens.length, 'token')
  if (!changed.has(null)) return tokensText
  return tokens.length === 0 ? 'the metadata of the collection' : `the metadata of the collection and ${tokensText}`
}

/** Describes the files that an archive lacks. If there is only one, names its token and field. */
function describeLackedFiles(files: readonly ArchiveFinding[]): string {
  const [first] = files
  if (files.length !== 1 || first === undefined) return `${count(files.length, 'file')}, which can be read now`
  const owner = first.token_id === null ? 'the collection' : `token ${first.token_id}`
  const field = first.field === null || first.field.length > MAX_FIELD_CHARACTERS ? 'file' : first.field
  return `${owner}'s ${safe(field)}, which can be read now`
}

/**
 * Reads the collection into a temporary file. Returns the problems of its files and, if there is an archive, the
 * differences from it.
 */
async function checkCollection(deps: Deps, target: ChainContract, flags: ReadingFlags, archive: OpenArchive | null) {
  const [{ ArchiveStore }, { readCollection }, { compareTokens }, { indexTokens }, { tokensWithMissing }] =
    await Promise.all([
      import('../../../archive/archive-store.ts'),
      import('./archive/read-collection.ts'),
      import('../../../archive/compare.ts'),
      import('../../../archive/index-lines.ts'),
      import('../../../archive/missing-files.ts'),
    ])
  const folder = join(target.settings.stateDir, 'checks')
  await makePrivateDirectory(folder)
  const store = new ArchiveStore(join(folder, `${randomBytes(8).toString('hex')}.db`))
  try {
    const wanted = flags.block === undefined ? null : { number: flags.block }
    const wholeDirectory = archive?.header.whole_directory ?? false
    await readCollection(deps, {
      target,
      flags,
      store,
      limits: toArchiveLimits(flags),
      wanted,
      wholeDirectory,
      keepsFiles: false,
    })
    const list: ArchiveFinding[] = []
    await withProgress(deps.io, 'Comparing', async () => {
      const before = archive === null ? null : tokensWithMissing(archive)
      for await (const finding of compareTokens(indexTokens(store), before)) list.push(finding)
    })
    return { list, tokens: store.count('tokens') }
  } finally {
    store.close({ remove: true })
  }
}
