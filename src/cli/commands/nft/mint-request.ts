import { extname } from 'node:path'
import { METADATA_KEYS } from '../../../api/metadata-keys.ts'
import type { Settings } from '../../../config/settings.ts'
import { flagError, GdnError, messageOf } from '../../../core/errors.ts'
import { resolveCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import type { KeyValue } from '../../flags/common.ts'
import type { TextQuestion } from '../../io/questions.ts'
import { parseRequest, readInput, toInputName } from '../../io/request-file.ts'
import { askAddress, askLine, askText, mayPrompt, promptIfMissing } from '../../prompt/ask-missing.ts'
import { resolveEnsFields } from '../../request/ens-names.ts'
import { resolveNamesInFields } from '../../request/named-addresses.ts'
import { warnOfQuotes } from '../../word-processor.ts'
import { type LocalFile, printMediaWarnings, readMedia } from './media.ts'
import type { NftFlags } from './mint-flags.ts'

/** The command's input: a single request, or a manifest to mint as a run. */
export type MintInput = { kind: 'manifest'; manifest: string } | NftRequest

/** A request before validation. */
export interface NftRequest {
  kind: 'request'
  request: Record<string, unknown>
  localFiles: LocalFile[]
  file: string | null
}

const MANIFEST_ENDINGS = new Set(['.csv', '.tsv', '.jsonl', '.ndjson'])
const METADATA_FLAGS = ['title', 'description', 'image', 'media', 'extra', 'attr'] as const

/** @param verb the verb of the command, for error messages */
export async function readMintInput(
  deps: Deps,
  flags: NftFlags,
  settings: Settings,
  verb: 'mint' | 'grant',
): Promise<MintInput> {
  if (flags.file === undefined) return await readFlags(deps, flags, settings, verb)
  const both = METADATA_FLAGS.filter((name) => flags[name] !== undefined)
  if (both.length > 0) {
    throw new GdnError('usage', `--${both[0]} and --file both set metadata`, { hint: 'Use one of the two flags.' })
  }
  if (MANIFEST_ENDINGS.has(extname(flags.file).toLowerCase())) return { kind: 'manifest', manifest: flags.file }
  const text = await readInput(deps.io, flags.file)
  if (
    text
      .replace(/^\ufeff/, '')
      .trimStart()
      .startsWith('[')
  )
    return toManifestInput(flags.file)
  const file = toInputName(flags.file)
  const fromFile = await resolveNamesInFields(parseRequest(text, file), file, deps.addresses)
  const address = flags.contract ?? fromFile.contract_address
  const collection = await findCollection(deps, settings, address, flags.blockchain ?? fromFile.blockchain)
  const request = {
    ...fromFile,
    contract_address: address ?? collection?.contract,
    blockchain: flags.blockchain ?? fromFile.blockchain ?? collection?.blockchain,
    receiver_wallet_address: flags.receiver ?? fromFile.receiver_wallet_address,
    // The receiver name in the file doesn't apply to a receiver from a flag.
    receiver_name: flags.receiver === undefined ? fromFile.receiver_name : undefined,
  }
  return { kind: 'request', request: await resolveReceiver(deps, flags, settings, request, file), localFiles: [], file }
}

/**
 * Returns the input for a file that contains a JSON list, which is a manifest. Rejects standard input, because it was
 * already read.
 */
function toManifestInput(file: string): MintInput {
  if (file !== '-') return { kind: 'manifest', manifest: file }
  throw new GdnError('usage', 'standard input contains a list of rows, which is a manifest', {
    hint: 'Pipe the manifest to `gdn batch mint - --run <name>`.',
  })
}

async function readFlags(
  deps: Deps,
  givenFlags: NftFlags,
  settings: Settings,
  verb: 'mint' | 'grant',
): Promise<NftRequest> {
  const { io } = deps
  const flags =
    givenFlags.title === undefined && mayPrompt(io)
      ? { ...givenFlags, ...(await promptForMetadata(deps, givenFlags)) }
      : givenFlags
  if (flags.title === undefined) {
    throw new GdnError('usage', 'is required without --file', {
      place: { flag: '--title' },
      hint: `Add --title and --receiver, or -f <file>. Run \`gdn nft ${verb} --help\` for examples.`,
    })
  }
  warnOfQuotes(io, '--title', flags.title)
  const image = flags.image === undefined ? [] : [{ key: 'image', value: flags.image }]
  const media = await readMedia(checkDistinct([...image, ...(flags.media ?? [])], '--media'), deps.cwd)
  printMediaWarnings(deps, media)
  const collection = await resolveCollection(deps, settings, await settings.server(), { io })
  const metadata = {
    ...Object.fromEntries(checkDistinct(flags.extra ?? [], '--extra').map(({ key, value }) => [key, value])),
    title: flags.title,
    description: flags.description ?? '',
    file_fields: media.fields,
    attribute: flags.attr?.map(({ key, value, trait }) => ({ tag: key, value, ...trait })),
  }
  const request = {
    contract_address: collection.contract,
    blockchain: collection.blockchain,
    receiver_wallet_address: await promptIfMissing(io, flags.receiver, () =>
      askAddress(io, {
        message: 'Receiver',
        flag: '--receiver',
        addresses: deps.addresses,
        blockchain: collection.blockchain,
        default: settings.wallet?.value,
      }),
    ),
    metadata: [metadata],
  }
  return {
    kind: 'request',
    request: await resolveReceiver(deps, flags, settings, request, null),
    localFiles: media.localFiles,
    file: null,
  }
}

/**
 * Replaces the ENS names of a request with addresses on its blockchain. The sender is resolved separately by
 * `gdn nft grant`.
 */
async function resolveReceiver(
  deps: Deps,
  flags: Pick<NftFlags, 'receiver' | 'ccip'>,
  settings: Settings,
  request: Record<string, unknown>,
  file: string | null,
): Promise<Record<string, unknown>> {
  const context = { settings, flags, blockchain: request.blockchain ?? settings.blockchain?.value }
  const { receiver_wallet_address } = request
  const resolvedReceiver = await resolveEnsFields(deps, context, { receiver_wallet_address }, (field) =>
    flags.receiver === undefined && file !== null ? { file, field } : { flag: '--receiver' },
  )
  return { ...request, ...resolvedReceiver }
}

/** Prompts for title, description and image. */
async function promptForMetadata({ io, cwd }: Deps, flags: NftFlags) {
  const optional = async (value: string | undefined, question: TextQuestion) => {
    const trimmed = value ?? (await askText(io, question)).trim()
    return trimmed === '' ? undefined : trimmed
  }
  const title = await askLine(io, { message: 'Title', flag: '--title' })
  const description = await optional(flags.description, {
    message: 'Description (optional)',
    flag: '--description',
  })
  const image = await optional(flags.image, {
    message: 'Image: a file or a URL (optional)',
    flag: '--image',
    check: async (typed) =>
      await readMedia([{ key: 'image', value: typed.trim() }], cwd).then(() => true as const, messageOf),
  })
  return { title, description, image }
}

/** Returns the configured collection if the file doesn't specify the collection completely. */
async function findCollection(deps: Deps, settings: Settings, address: unknown, blockchain: unknown) {
  if (address !== undefined && blockchain !== undefined) return undefined
  const contract = typeof address === 'string' ? { value: address, from: 'contract_address' } : settings.contract
  return await resolveCollection(deps, { ...settings, contract }, await settings.server())
}

const RESERVED_KEYS = new Set([...METADATA_KEYS, '__proto__'])

/** Rejects reserved keys and repeated keys. All but one value of a repeated key would be lost. */
function checkDistinct(pairs: readonly KeyValue[], flag: string): readonly KeyValue[] {
  const keys = new Set<string>()
  for (const { key } of pairs) {
    if (keys.has(key)) throw flagError(flag, `"${key}" is specified twice`, 'Use each key only once.')
    if (flag === '--extra' && RESERVED_KEYS.has(key)) {
      throw flagError(flag, `"${key}" is a reserved key`, 'Use --title, --description, --media or --attr.')
    }
    keys.add(key)
  }
  return pairs
}
