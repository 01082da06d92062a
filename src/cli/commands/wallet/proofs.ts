import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { count } from '../../../core/count.ts'
import { flagError, formatProblem } from '../../../core/errors.ts'
import type { ManifestSource } from '../../../manifest/source.ts'
import { buildGroupList } from '../../../wallet/group-list.ts'
import { isValidName } from '../../../wallet/names.ts'
import { buildProofs, type ParamsFile } from '../../../wallet/proofs/build-proofs.ts'
import { PROOF_FORMATS, type ProofFormat } from '../../../wallet/proofs/leaf-formats.ts'
import { joinInChunks, type ProofSet, proofMembers } from '../../../wallet/proofs/proof-set.ts'
import { refuseOtherFiles, writeProofs } from '../../../wallet/proofs/write-proofs.ts'
import { createNameResolver } from '../../batch/options/manifest-options.ts'
import { GdnCommand, requiredFlagError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, notEmpty, type OutputFlags, oneOf } from '../../flags/common.ts'
import { type Io, safe } from '../../io/io.ts'
import { withProgress } from '../../io/progress.ts'
import { parseRequest, readInput, toInputName } from '../../io/request-file.ts'
import { createOutput, type DataRecord, type Output, type View } from '../../render/output.ts'

const VIEW: View = {
  fields: ['format', 'root', 'receivers', 'leaf_encoding', 'out', 'warnings', 'proofs'],
  columns: ['format', 'root', 'receivers', 'out'],
  id: 'root',
  // Warnings are printed before the card.
  card: ({ warnings: _warnings, ...record }) => Object.entries(record),
}

export interface ProofsFlags extends OutputFlags {
  format?: ProofFormat
  params?: string
  out?: string
  force?: boolean
}

export function command(deps: Deps, run = proofs): GdnCommand {
  const formats = PROOF_FORMATS.join(', ')
  return new GdnCommand({
    about:
      'A claim contract stores only the root of a Merkle tree, and each receiver claims with a proof for their address. The list is a CSV file with the column receiver and, optionally, the column count, or a file with one address per line. A line can also contain a saved name such as @alice. Instead of a file, you can specify a group such as @team. With --format oz, gdn encodes the leaves as in the StandardMerkleTree of OpenZeppelin. The leaves contain address and count, or only the address if the list has no counts. With --format thirdweb, the count is quantityLimitPerWallet. The list can also have the columns currency and price, in the smallest unit of the currency. An empty price keeps the price of the claim condition, and 0 means free. With --format seadrop, --params is a JSON file with the MintParams, and the count is maxTotalMintableByWallet unless the file sets it. With --json, the output contains all proofs, unless --out writes them to files.',
    examples: [
      ['Print the root for a contract that uses OpenZeppelin', 'gdn wallet proofs holders.csv --format oz -o ids'],
      ['Write the proofs for a claim page', 'gdn wallet proofs holders.csv --format thirdweb --out claim'],
      [
        'Write an allowlist for SeaDrop',
        'gdn wallet proofs holders.csv --format seadrop --params stage.json --out claim',
      ],
      ['Print the root for the members of a group', 'gdn wallet proofs @team --format oz -o ids'],
      ['Print all proofs', 'gdn wallet proofs holders.csv --format oz --json'],
    ],
  })
    .argument('<list>')
    .valueFlag('--format <format>', `Contract that verifies the proofs: ${formats}`, {
      parse: oneOf(PROOF_FORMATS),
      required: true,
    })
    .valueFlag('--params <file>', 'JSON file with the MintParams of SeaDrop', notEmpty)
    .valueFlag('--out <dir>', 'New directory for the root, the tree and the proofs', notEmpty)
    .switchFlag('--force', 'Replace an earlier directory of proofs')
    .with(addOutputFlags)
    .action(async (list: string, flags: ProofsFlags) => await run(deps, list, flags))
}

export async function proofs(deps: Deps, list: string, flags: ProofsFlags): Promise<void> {
  const { io, cwd } = deps
  const { signal } = deps.signals
  const output = createOutput(io, flags, VIEW)
  const format = checkFlags(list, flags, output)
  const replace = flags.force === true
  const out = flags.out === undefined ? null : resolve(cwd, flags.out)
  if (out !== null) await refuseOtherFiles(out, replace)
  const { set, warnings, summary } = await withProgress(io, 'Reading the list', async ({ update }) => {
    const params = flags.params === undefined ? null : await readParams(io, flags.params)
    const source = await openListSource(deps, list)
    const names = createNameResolver(deps)
    const { set, warnings } = await buildProofs(source, format, { params, names, signal, onProgress: update })
    const receivers = set.receivers.length
    const summary = { format, root: set.tree.node(0), receivers, leaf_encoding: set.format.encoding }
    if (out === null) return { set, warnings, summary }
    update(`Writing ${count(receivers, 'proof')}`)
    await writeProofs(out, set, summary, { replace, signal })
    return { set, warnings, summary: { ...summary, out } }
  })
  for (const warning of warnings) {
    io.warn(`${io.errPaint.busy('warning:')} ${safe(formatProblem(warning))}`)
    io.warn(`  ${warning.hint}`)
  }
  const record = { ...summary, warnings }
  if (out === null && isJsonOutput(output)) return await printAll(io, set, record, output)
  await output.one(record)
  if (out === null) io.note('To write the proofs for a claim page, add `--out <dir>`. To print them, add `--json`.')
}

/** Opens the list: a file, standard input, or a group. Each address of a group counts only once. */
async function openListSource(
  { io, addresses }: Pick<Deps, 'io' | 'addresses'>,
  list: string,
): Promise<ManifestSource> {
  if (list === '-') return { stdin: io.stdin }
  if (!isValidName(list)) return { path: list }
  const { text, note } = buildGroupList(await addresses(), list, { flag: '<list>' })
  if (note !== null) io.note(`${note}.`)
  return { stdin: Readable.from([Buffer.from(text)]), name: list }
}

const isJsonOutput = ({ mode }: Output) => mode === 'json' || mode === 'ndjson'

/** Rejects contradictory flags before anything is read. Returns the format. */
function checkFlags(list: string, { format, params, out, force, fields }: ProofsFlags, output: Output): ProofFormat {
  if (format === undefined) throw requiredFlagError('--format', `Use ${PROOF_FORMATS.join(', ')}.`)
  if (format === 'seadrop' && params === undefined) {
    throw requiredFlagError('--params', 'Pass a JSON file with the MintParams of the stage.')
  }
  if (format !== 'seadrop' && params !== undefined) {
    throw flagError('--params', 'requires --format seadrop', 'Remove the flag, or use --format seadrop.')
  }
  if (list === '-' && params === '-')
    throw flagError('--params', 'the list is already read from standard input', 'Use a file.')
  if (force === true && out === undefined) throw flagError('--force', 'requires --out', 'Add --out <dir>.')
  const printsProofs = out === undefined && isJsonOutput(output)
  if (fields?.some((field) => field.startsWith('proofs.') || (field === 'proofs' && !printsProofs))) {
    throw flagError('--fields', 'proofs can only be printed in full, as JSON', 'Use --json --fields root,proofs.')
  }
  return format
}

async function readParams(io: Io, path: string): Promise<ParamsFile> {
  const name = toInputName(path)
  return { name, params: parseRequest(await readInput(io, path), name) }
}

/** Prints the fields and all proofs in chunks, because a million proofs need more than a gigabyte. */
async function printAll(io: Io, set: ProofSet, summary: DataRecord, { fields, pick }: Output): Promise<void> {
  const picked = pick(summary)
  let separator = '{'
  for (const field of fields ?? [...Object.keys(summary), 'proofs']) {
    const name = `${separator}${JSON.stringify(field)}:`
    separator = ','
    if (field !== 'proofs') await io.data(name + JSON.stringify(picked[field]))
    else for (const text of joinInChunks(proofMembers(set, set.receivers.keys()), `${name}{`, '}')) await io.data(text)
  }
  await io.data('}\n')
}
