import { formatTraitValue, readAttribute, type TraitType } from '../../../api/traits.ts'
import { readNftPages } from '../../../client/read-records.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { validateManifest } from '../../../manifest/read.ts'
import {
  formatPercent,
  MAX_RAREST_TRAITS,
  METHOD,
  METHOD_TEXT,
  MISSING_TEXT,
  type Ranking,
  Rarity,
  type TraitShare,
  traitText,
} from '../../../marketplace/rarity.ts'
import { addTargetFlags, type BatchMintFlags, TARGET_ALIASES } from '../../batch/options/flags.ts'
import { MappedColumns, manifestOptions, manifestSource, withEnsNames } from '../../batch/options/manifest-options.ts'
import { GdnCommand } from '../../command.ts'
import { resolveCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, integer } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { awaitResponse } from '../../request/slow-response.ts'
import { findCollection, throwManifestErrors } from './validate.ts'

export interface RarityFlags extends BatchMintFlags {
  traits?: boolean
  limit?: number
}

const NFTS_VIEW: View = {
  fields: ['rank', 'score', 'line', 'id', 'token_id', 'nft_gdn_id', 'title', 'rarest', 'method'],
  columns: ['rank', 'score', 'line', 'id', 'token_id', 'title', 'rarest'],
  id: 'nft_gdn_id',
  plural: 'NFTs',
  sparse: ['line', 'id', 'token_id'],
  cells: (record) => ({
    ...record,
    score: Number(record.score).toFixed(4),
    rarest: (record.rarest as readonly TraitShare[]).map(traitText).join(', '),
  }),
}

const TRAITS_VIEW: View = {
  fields: ['trait', 'value', 'display_type', 'count', 'share', 'bits', 'scored', 'method'],
  columns: ['trait', 'value', 'count', 'share', 'bits'],
  id: 'trait',
  plural: 'values',
  cells: (record) => ({
    ...record,
    value: typeof record.value === 'string' ? formatRareValue(record.value, record.display_type) : MISSING_TEXT,
    share: formatPercent(Number(record.share)),
    bits: record.scored === true ? Number(record.bits).toFixed(2) : 'not scored',
  }),
}

const formatRareValue = (value: string, type: unknown) => formatTraitValue({ value, display_type: type as TraitType })

export function command(deps: Deps, run = rarity): GdnCommand {
  return new GdnCommand({
    about: `The command ranks the NFTs of a manifest, or of a collection if no manifest is specified. ${METHOD_TEXT} Equal scores share a rank. Typed traits, such as attr(number):Power, are counted but not scored. Marketplaces may use another method, so their ranks can differ. With --traits, the command lists the number and the share of the NFTs that have each trait value. The command ignores burned and failed NFTs of a collection.`,
    examples: [
      ['Rank the rows of a manifest', 'gdn batch rarity drop.csv'],
      ['List the share of each trait', 'gdn batch rarity drop.csv --traits'],
      [
        'Rank the NFTs of a collection, as CSV',
        'gdn batch rarity -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon -o csv > rarity.csv',
      ],
    ],
    aliases: TARGET_ALIASES,
  })
    .argument('[manifest]')
    .switchFlag('--traits', 'List how many NFTs have each trait value, instead of ranking the NFTs')
    .valueFlag('--limit <n>', 'Maximum number of results', integer(1, 100_000_000))
    .with(addTargetFlags, addServerFlags, addOutputFlags)
    .action(async (manifest: string | undefined, flags: RarityFlags) => await run(deps, manifest, flags))
}

export async function rarity(deps: Deps, manifest: string | undefined, flags: RarityFlags): Promise<void> {
  const output = createOutput(deps.io, flags, flags.traits === true ? TRAITS_VIEW : NFTS_VIEW, { manifest })
  const settings = await deps.settings(flags)
  const { ranking, identities } =
    manifest === undefined ? await rankCollection(deps, settings) : await rankManifest(deps, settings, manifest, flags)
  if (ranking.size === 0) throw new GdnError('not_found', 'there are no NFTs to rank')
  const records = flags.traits === true ? toTraitRecords(ranking) : toNftRecords(ranking, identities)
  await output.many(takeFirst(records, flags.limit ?? Number.POSITIVE_INFINITY))
  deps.io.note(METHOD_TEXT)
  const { unscoredTraits, mixedTraits } = ranking
  if (unscoredTraits.length > 0) deps.io.note(`Typed traits are not scored: ${safe(unscoredTraits.join(', '))}`)
  if (mixedTraits.length > 0) {
    const problem = 'these traits are typed in some NFTs and text in others, so their typed values count as missing'
    deps.io.warn(`warning: ${problem}: ${safe(mixedTraits.join(', '))}`)
  }
}

async function* takeFirst<Item>(items: Iterable<Item>, max: number): AsyncGenerator<Item> {
  let remaining = max
  for (const item of items) {
    if (remaining-- <= 0) return
    yield item
  }
}

function* toNftRecords(ranking: Ranking, names: readonly DataRecord[]): Generator<DataRecord> {
  const { order, ranks, scores } = ranking
  for (const index of order) {
    const rarest = ranking.rarestTraits(index, MAX_RAREST_TRAITS)
    yield { rank: ranks[index], score: scores[index], ...names[index], rarest, method: METHOD }
  }
}

function* toTraitRecords(ranking: Ranking): Generator<DataRecord> {
  for (const trait of ranking.traits()) yield { ...trait, method: METHOD }
}

/** The ranking, and the fields that identify each NFT, in the order of the manifest or the collection. */
interface RankedNfts {
  ranking: Ranking
  identities: readonly DataRecord[]
}

async function rankManifest(deps: Deps, settings: Settings, manifest: string, flags: RarityFlags): Promise<RankedNfts> {
  const manifestFlags = manifestOptions(deps, flags, settings)
  const blockchain =
    manifestFlags.blockchain ?? settings.blockchain?.value ?? (await findCollection(deps, settings))?.blockchain ?? null
  const options = withEnsNames(deps, settings, flags, manifestFlags)
  const onMapped = new MappedColumns(deps.io, settings).add
  const rarity = new Rarity()
  const identities: DataRecord[] = []
  const summary = await validateManifest(
    manifestSource(deps, manifest),
    { ...options, blockchain, mayLackBlockchain: true, onMapped },
    ({ line, id, metadata }) => {
      rarity.add(metadata.attribute ?? [])
      identities.push({ line, id, token_id: null, nft_gdn_id: null, title: metadata.title })
    },
  )
  throwManifestErrors(summary, null)
  return { ranking: rarity.rank(), identities }
}

async function rankCollection(deps: Deps, settings: Settings): Promise<RankedNfts> {
  const { io, signals } = deps
  const { client, server } = await deps.connect(settings)
  const { contract, blockchain } = await resolveCollection(deps, settings, server, { io })
  const request = { contract_addresses: contract, blockchain }
  const listing = client.call('getnftgdnids', request, { signal: signals.signal })
  const { nft_gdn_ids: ids } = await awaitResponse(io, server.origin, listing)
  const rarity = new Rarity()
  const identities: DataRecord[] = []
  const progress = await io.progress(`Reading ${count(ids.length, 'NFT')}`)
  try {
    for await (const { nfts, done } of readNftPages({ client, signal: signals.signal }, ids)) {
      for (const { nft_gdn_id, token_id, status, burned, request_metadata } of nfts) {
        if (burned === true || status === 'failed') continue
        const { attribute, title } = Object(request_metadata) as { attribute?: unknown; title?: unknown }
        const attributes = Array.isArray(attribute) ? attribute.map((item) => readAttribute(Object(item))) : []
        rarity.add(attributes)
        identities.push({ line: null, id: null, token_id, nft_gdn_id, title: typeof title === 'string' ? title : null })
      }
      progress.update(`Reading ${done} of ${count(ids.length, 'NFT')}`)
    }
  } finally {
    progress.stop()
  }
  return { ranking: rarity.rank(), identities }
}
