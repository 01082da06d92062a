import { flagError } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'
import type { WantedBlock } from '../../../holders/block-of.ts'
import { GdnCommand, type Parse } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, integer, notEmpty, type OutputFlags, oneOf } from '../../flags/common.ts'
import { addEnsFlags, type EnsFlags } from '../../flags/ens.ts'
import { createOutput, type View } from '../../render/output.ts'
import { addChainContractFlags, type ChainContractFlags, resolveChainContract } from './chain-contract.ts'
import { excludedAddresses } from './holders/excluded.ts'

export interface HoldersFlags extends OutputFlags, ChainContractFlags, EnsFlags {
  block?: number
  at?: number
  min?: bigint
  exclude?: string[]
  per?: 'token'
  tokenId?: bigint
  sample?: number
  seed?: string
}

/** The CSV fields are the columns of a list of receivers. */
const VIEW: View = {
  fields: ['receiver', 'count', 'token_ids'],
  columns: ['receiver', 'count', 'token_ids'],
  id: 'receiver',
  plural: 'holders',
  yields: 'token_ids',
  more: ['block_number', 'block_hash', 'is_checked'],
}
const MAX_SAMPLE_SIZE = 1_000_000_000
const READING_GROUP = 'Reading'
const CHOOSING_GROUP = 'Choosing'

/** Parses an unsigned 256-bit integer, the type of token IDs in contracts. */
const uint256: Parse<bigint> = (raw, flag) => {
  const value = /^(0|[1-9][0-9]{0,77})$/.test(raw) ? BigInt(raw) : -1n
  if (value >= 0n && value < 2n ** 256n) return value
  throw flagError(flag, 'must be a whole number from 0 to 2²⁵⁶−1')
}

export function command(deps: Deps, run = holders): GdnCommand {
  const reading = { group: READING_GROUP }
  const choosing = { group: CHOOSING_GROUP }
  return new GdnCommand({
    about:
      'The command reads the transfers of an ERC-721, ERC-1155 or ERC-20 contract from a node, and adds them up. It then compares the total and a sample of the balances with the contract. If they differ, it prints no holders and exits with code 5. By default, it lists the holders at the last final block, or at the newest block of an embedded chain. After an interruption, run the same command again to resume. Counts of ERC-20 tokens are in the smallest unit of the token. You can use the CSV output as a list of receivers. Each holder then receives as many NFTs as they hold. If each holder should receive only one NFT, add --fields receiver.',
    examples: [
      [
        'List the holders of any NFT contract',
        'gdn collection holders 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon \\',
        '  --rpc-url https://node.example -o csv > holders.csv',
      ],
      [
        'List the holders of at least 3 NFTs at a given time',
        'gdn collection holders 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon \\',
        '  --rpc-url https://node.example --at 2026-11-01T00:00Z --min 3',
      ],
      [
        'Draw 100 holders at random, excluding the team',
        'gdn collection holders 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --local \\',
        '  --exclude team.csv --sample 100 --seed "first draw"',
      ],
    ],
  })
    .with((own) => addChainContractFlags(own, READING_GROUP))
    .valueFlag('--block <n>', 'List the holders at this block', {
      ...reading,
      parse: integer(0, Number.MAX_SAFE_INTEGER),
    })
    .valueFlag('--at <time>', 'List the holders at this time, such as 2026-11-01T00:00Z', {
      ...reading,
      parse: blockTime,
    })
    .valueFlag('--min <n>', 'List only holders with at least this count', { ...choosing, parse: uint256 })
    .valueFlag('--exclude <file|address>', 'Exclude an address, a name, a group, or all entries of a file', {
      ...choosing,
      parse: notEmpty,
      repeatable: true,
    })
    .valueFlag('--per <what>', 'Print one line per token instead of per holder: token', {
      ...choosing,
      parse: oneOf(['token']),
    })
    .valueFlag('--token-id <id>', 'List only holders of this token', { ...choosing, parse: uint256 })
    .valueFlag('--sample <n>', 'Draw a random sample of this many holders', {
      ...choosing,
      parse: integer(1, MAX_SAMPLE_SIZE),
    })
    .valueFlag('--seed <text>', 'Text that seeds the draw (the hash of the block)', { ...choosing, parse: notEmpty })
    .with((own) => addEnsFlags(own, CHOOSING_GROUP), addServerFlags, addOutputFlags)
    .action(async (contract: string | undefined, flags: HoldersFlags) => await run(deps, contract, flags))
}

export async function holders(deps: Deps, typed: string | undefined, flags: HoldersFlags): Promise<void> {
  createOutput(deps.io, flags, VIEW)
  const wanted = wantedBlock(flags)
  const { contract, blockchain, server, settings } = await resolveChainContract(deps, typed, flags)
  const excluded = await excludedAddresses(deps, flags.exclude ?? [], { settings, flags, blockchain })
  const [{ withHolders }, { printHolders }] = await Promise.all([
    import('./holders/read.ts'),
    import('./holders/print.ts'),
  ])
  const { stateDir } = settings
  const isAsked = server !== null && wanted === null
  const connect = isAsked ? async () => (await deps.connect(settings)).client : null
  await withHolders(deps, { contract, blockchain, server, flags, wanted, stateDir, connect }, async (holdersRead) => {
    const view = holdersRead.standard === 'erc20' ? withoutTokens(VIEW) : VIEW
    await printHolders(deps.io, { ...holdersRead, flags, excluded, output: createOutput(deps.io, flags, view) })
  })
}

const withoutTokens = (view: View): View => {
  const fields = view.fields.filter((field) => field !== 'token_ids')
  return { ...view, fields, columns: fields }
}

/** @throws GdnError `usage` if flags contradict each other */
function wantedBlock({ block, at, sample, seed }: HoldersFlags): WantedBlock {
  if (seed !== undefined && sample === undefined) throw flagError('--seed', 'requires --sample', 'Add --sample <n>.')
  if (block !== undefined && at !== undefined) {
    throw flagError('--at', "can't be used with --block", 'Use one of them.')
  }
  return block !== undefined ? { number: block } : at !== undefined ? { at } : null
}

/**
 * Parses a time such as `2026-11-01T00:00Z`, or a date, which means midnight UTC. Returns milliseconds since the epoch.
 */
const blockTime: Parse<number> = (raw, flag) => {
  const match = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2})?Z)?$/.exec(raw)
  const midnight = Date.parse(`${match?.[1]}T00:00:00Z`)
  const at = raw.includes('T') ? Date.parse(raw) : midnight
  // For February 30, JavaScript returns either an invalid date or a day in March.
  const isDay = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(match?.[1] ?? '-')
  if (isDay && !Number.isNaN(at)) return at
  throw flagError(flag, `must be a time in UTC such as 2026-11-01T00:00Z, not ${quoted(raw)}`)
}
