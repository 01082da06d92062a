import { updatednft } from '../../../api/endpoints/updatednft.ts'
import type { NftMetadata } from '../../../api/metadata.ts'
import { metadataChanges } from '../../../api/metadata-changes.ts'
import { formatTraitValue, readAttribute } from '../../../api/traits.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { mayBeMisspelled } from '../../../core/nearest.ts'
import { quoted } from '../../../core/quoted.ts'
import { readProof } from '../../../manifest/reveal-keys.ts'
import { NOT_PROVEN_NOTE } from '../../../plan/plan-notes.ts'
import { GdnCommand } from '../../command.ts'
import { confirmSpending } from '../../cost/confirm-spending.ts'
import { withPaid } from '../../cost/paid.ts'
import { estimateMaxRequestUse } from '../../cost/run-limit.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, addWaitFlags, notEmpty } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { parseRequest, readInput, toInputName } from '../../io/request-file.ts'
import { createOutput, type View } from '../../render/output.ts'
import { changeOnce } from '../../request/change-once.ts'
import { checkRequest } from '../../request/check-request.ts'
import { addOperationFlags, quoteOperation } from '../../request/operate-once.ts'
import { warnOfQuotes } from '../../word-processor.ts'
import {
  addBlockchainFlag,
  CHANGE_VIEW,
  type ChangeFlags,
  type FoundNft,
  findNftsOnChain,
  shortRecord,
} from './change-nft.ts'
import {
  hashLocalFiles,
  type LocalFile,
  printMediaWarnings,
  readMedia,
  replaceUrls,
  uploadLocalFiles,
} from './media.ts'
import { addMetadataFlags, type NftFlags } from './mint-flags.ts'
import { resolveNftIds } from './nft-ids.ts'
import { refuseHiddenNfts } from './refuse-hidden.ts'
import { addTokenContractFlag } from './token-reference.ts'

export type UpdateFlags = ChangeFlags &
  Pick<NftFlags, 'title' | 'description' | 'image' | 'media' | 'extra' | 'attr' | 'file'>

/** The view of the differences that a dry run prints. */
const DIFFERENCE_VIEW: View = {
  fields: ['field', 'before', 'after'],
  columns: ['field', 'before', 'after'],
  id: 'field',
}

export function command(deps: Deps, run = update): GdnCommand {
  return new GdnCommand({
    about:
      'Specify an NFT by ID, by token ID and --contract, or as <contract>/<token ID>. You can update only dynamic NFTs, and only until they are frozen. Each flag changes one field, and the other fields keep their values. With -f, a file replaces all metadata. The request contains the revision that it replaces, so the command never overwrites an update by someone else.',
    examples: [
      ['Change the title', 'gdn nft update 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --title Dusk'],
      [
        'Show the changes without sending them',
        'gdn nft update 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --attr level=2 --dry-run',
      ],
      ['Replace all metadata', 'gdn nft update 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d -f metadata.json'],
    ],
  })
    .argument('<nft_gdn_id>')
    .with(addMetadataFlags)
    .valueFlag('-f, --file <file>', 'JSON file that replaces all metadata, or - for standard input', notEmpty)
    .with(
      addTokenContractFlag,
      addBlockchainFlag,
      (own) => addWaitFlags(own, 'the NFT is updated', { dryRun: 'Show the changes without sending them' }),
      addOperationFlags,
      addServerFlags,
      addOutputFlags,
    )
    .action(async (id: string, flags: UpdateFlags) => await run(deps, id, flags))
}

export async function update(deps: Deps, nftId: string, flags: UpdateFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, flags.dryRun ? DIFFERENCE_VIEW : withPaid(CHANGE_VIEW))
  const changesOf = await readMetadataEdit(deps, flags)
  const connection = await deps.connect(await deps.settings(flags))
  const [id = nftId] = await resolveNftIds(deps, connection, [nftId], flags)
  const [nft] = await findNftsOnChain(deps, connection, [id])
  if (nft === undefined) return
  refuseUnchangeable(nft)
  const before = (nft.request_metadata ?? {}) as NftMetadata
  const { metadata, localFiles } = changesOf(before)
  const proof = readProof(before)
  if (proof !== undefined) {
    for (const [key, value] of Object.entries(proof)) metadata[key] ??= value
    io.note(`${safe(id)} is already revealed. ${NOT_PROVEN_NOTE}.`)
  }
  const fixed = {
    nft_gdn_id: id,
    contract_address: nft.contract_address,
    ...(typeof nft.revision === 'number' ? { replaces_revision: nft.revision } : {}),
  }
  const file = flags.file === undefined ? null : toInputName(flags.file)
  const request = checkRequest(updatednft.request, { ...fixed, metadata: [metadata] }, file)
  const paths = new Map(localFiles.map(({ placeholder, path }) => [placeholder, path]))
  const shownMetadata = replaceUrls(request, paths).metadata[0] as NftMetadata
  const intent = { [id]: { ...shortRecord(nft), before, after: shownMetadata, revision: nft.revision } }
  if (flags.file !== undefined) warnOfLostTypes(deps, before, shownMetadata)
  const { blockchain, contract_address: contract } = nft
  const published = { blockchain, contract, metadata: request.metadata, localFiles, what: 'update' } as const
  const refuseHidden = () => refuseHiddenNfts(deps, connection, flags, published)
  if (flags.dryRun) {
    deps.checkPlan?.(intent)
    await refuseHidden()
    await quoteOperation(deps, connection.settings, flags, { endpoint: 'updatednft', blockchain, content: request })
    return await output.many(
      metadataChanges(withDates(before), withDates(shownMetadata)).map((change) => ({ ...change })),
    )
  }
  if (localFiles.length === 0 && metadataChanges(before, request.metadata[0] as NftMetadata).length === 0) {
    await output.one({ ...shortRecord(nft), status: 'deployed' })
    return io.note('Nothing to change.')
  }
  const hashes = await hashLocalFiles(localFiles)
  const change = {
    endpoint: 'updatednft' as const,
    note: 'nft update',
    what: `the update of ${safe(id)}`,
    blockchain,
    contract,
    content: replaceUrls(request, hashes),
    checkRepetition: refuseHidden,
    async request(limit: bigint | null) {
      deps.checkPlan?.(intent)
      await refuseHidden()
      const priced = { limit, maxUse: () => estimateMaxRequestUse('updatednft', request) }
      const action = `Update ${nft.title} (${id})`
      await confirmSpending(deps, connection, { yes: flags.yes, blockchain, action, priced })
      return replaceUrls(request, await uploadLocalFiles(deps, connection.client, localFiles, hashes))
    },
  }
  await changeOnce(deps, connection, flags, change, async (outcome) => {
    const { title } = request.metadata[0] ?? {}
    await output.one({ ...shortRecord(nft), title, ...outcome })
  })
}

/** Warns about typed traits that become text because the new metadata doesn't specify their types. */
function warnOfLostTypes({ io }: Deps, before: NftMetadata, after: NftMetadata): void {
  for (const { tag, display_type } of after.attribute ?? []) {
    const earlier = before.attribute?.find((attribute) => attribute.tag === tag)
    if (display_type !== undefined || earlier?.display_type === undefined) continue
    io.warn(
      safe(
        `The update changes the trait ${quoted(tag)} from the type ${earlier.display_type} to text. To keep the type, add "display_type": "${earlier.display_type}" to the attribute.`,
      ),
    )
  }
}

/** Returns metadata with readable dates, for display of the differences. */
function withDates(metadata: NftMetadata): NftMetadata {
  const shownMetadata = structuredClone(metadata)
  for (const attribute of shownMetadata.attribute ?? [])
    if (attribute.display_type === 'date') attribute.value = formatTraitValue(readAttribute(attribute))
  return shownMetadata
}

function refuseUnchangeable({ nft_gdn_id: id, is_dynamic, is_frozen, burned }: FoundNft): void {
  if (burned) throw new GdnError('refused', `${id} is burned`)
  if (is_frozen) throw new GdnError('refused', `${id} is frozen, so its metadata can't change`)
  if (is_dynamic !== false) return
  throw new GdnError('refused', `${id} was not created as a dynamic NFT, so its metadata can't change`, {
    hint: 'To mint a dynamic NFT, add --dynamic to `gdn nft mint`, or create its collection with --dynamic.',
  })
}

/** Refuses a new attribute whose tag differs from an existing tag only in case or spaces. */
function refuseMisspelled(attributes: NonNullable<UpdateFlags['attr']>, earlier: readonly { tag: string }[]): void {
  const plain = (tag: string) => tag.replace(/\s/g, '').toLowerCase()
  for (const { key } of attributes) {
    if (earlier.some(({ tag }) => tag === key)) continue
    const similar = earlier.find(({ tag }) => plain(tag) === plain(key))
    if (similar === undefined) continue
    throw flagError(
      '--attr',
      safe(`the NFT has no attribute ${quoted(key)}: did you mean ${quoted(similar.tag)}?`),
      'To add another attribute with a similar name, replace the metadata with --file.',
    )
  }
}

/** Warns about a new attribute whose tag may be a misspelling of an existing tag. */
function warnOfMisspelled(
  { io }: Pick<Deps, 'io'>,
  attributes: NonNullable<UpdateFlags['attr']>,
  earlier: readonly { tag: string }[],
): void {
  for (const { key } of attributes) {
    if (earlier.some(({ tag }) => tag === key)) continue
    const similar = earlier.find(({ tag }) => mayBeMisspelled(key.toLowerCase(), tag.toLowerCase()))
    if (similar === undefined) continue
    io.warn(safe(`warning: --attr adds the new attribute ${quoted(key)}. Did you mean ${quoted(similar.tag)}?`))
  }
}

/** Returns the new metadata, given the current metadata. */
type MetadataEdit = (before: NftMetadata) => { metadata: Record<string, unknown>; localFiles: readonly LocalFile[] }

async function readMetadataEdit(deps: Deps, flags: UpdateFlags): Promise<MetadataEdit> {
  const { title, description, image, media = [], extra = [], attr = [], file } = flags
  const changesBasicFields = [title, description, image].some((value) => value !== undefined)
  const changesFields = changesBasicFields || [...media, ...extra, ...attr].length > 0
  if (file !== undefined) {
    if (changesFields) {
      throw new GdnError('usage', "can't be combined with flags for single fields", {
        place: { flag: '--file' },
        hint: 'Use either --file or flags for single fields.',
      })
    }
    const metadata = parseRequest(await readInput(deps.io, file), toInputName(file))
    return () => ({ metadata, localFiles: [] })
  }
  if (!changesFields) {
    throw new GdnError('usage', 'no change is specified', { hint: 'Add a field to change, such as --title Dusk.' })
  }
  warnOfQuotes(deps.io, '--title', title)
  const images = image === undefined ? [] : [{ key: 'image', value: image }]
  const readFiles = await readMedia([...images, ...media], deps.cwd)
  printMediaWarnings(deps, readFiles)
  const { fields, localFiles } = readFiles
  const replaceItems = <Item>(before: readonly Item[], after: readonly Item[], nameOf: (item: Item) => string) => [
    ...before.map((earlier) => after.find((item) => nameOf(item) === nameOf(earlier)) ?? earlier),
    ...after.filter((item) => !before.some((earlier) => nameOf(earlier) === nameOf(item))),
  ]
  return (before) => {
    const earlier = before.attribute ?? []
    refuseMisspelled(attr, earlier)
    warnOfMisspelled(deps, attr, earlier)
    // A typed trait keeps its type and maximum unless the user specifies new ones.
    const attributes = attr.map(({ key, value, trait }) => ({
      ...(trait ?? earlier.find(({ tag }) => tag === key)),
      tag: key,
      value,
    }))
    const attribute = replaceItems(earlier, attributes, ({ tag }) => tag)
    return {
      metadata: {
        ...before,
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        ...Object.fromEntries(extra.map(({ key, value }) => [key, value])),
        file_fields: replaceItems(before.file_fields, fields, ({ key }) => key),
        ...(attribute.length === 0 ? {} : { attribute }),
      },
      localFiles,
    }
  }
}
