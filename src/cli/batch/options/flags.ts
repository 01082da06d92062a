import type { Blockchain } from '../../../api/blockchains.ts'
import type { RunOptionFlags } from '../../../batch/types.ts'
import { GdnError } from '../../../core/errors.ts'
import { nearest } from '../../../core/nearest.ts'
import {
  COLUMN_NAMES,
  IGNORED_MEANING,
  mapFlag,
  meaningProblem,
  UNKNOWN_COLUMNS,
  type UnknownColumns,
} from '../../../manifest/columns.ts'
import { type GdnCommand, type Parse, switchFlag, valueFlag } from '../../command.ts'
import { addVerifyFlags, type VerifyFlags } from '../../connect/open-verifier.ts'
import { addCostFlags } from '../../cost/fees.ts'
import { addMaxCostFlag, type LimitFlags } from '../../cost/limit.ts'
import { parseMaxFee } from '../../cost/max-fee.ts'
import {
  addOutputFlags,
  addressOrName,
  addServerFlags,
  addWaitFlags,
  blockchainName,
  duration,
  integer,
  type KeyValue,
  keyValue,
  notEmpty,
  type OutputFlags,
  oneOf,
  positiveNumber,
  type ServerFlags,
} from '../../flags/common.ts'
import { addEnsFlags, type EnsFlags } from '../../flags/ens.ts'

/** Flags of the commands that mint a manifest. */
export interface BatchMintFlags extends RunOptionFlags, OutputFlags, ServerFlags, VerifyFlags, LimitFlags, EnsFlags {
  contract?: string
  blockchain?: Blockchain
  receiver?: string | undefined
  sender?: string | undefined
  map?: KeyValue[]
  unknownColumns?: UnknownColumns
  run?: string
  allowDuplicates?: boolean
  rate?: number
  dryRun?: boolean
  checkFiles?: boolean
  yes?: boolean
  /** The file with the metadata that the NFTs have until they are revealed. */
  unrevealed?: string
  shuffle?: boolean
  /** The minimum time in milliseconds between the seal and the round that draws the rows. */
  shuffleMargin?: number
  /** The file with the receivers of a manifest that has a single row. */
  to?: string
  toStdin?: boolean
  merge?: boolean
  skipContracts?: boolean
}

/** Aliases for the flags that `addTargetFlags` adds. */
export const TARGET_ALIASES = {
  '--contract-address': '--contract',
  '--contract-addresses': '--contract',
  '--receiver-wallet-address': '--receiver',
  '--sender-wallet-address': '--sender',
}

/** Names that other tools use for flags that `addPaceFlags` adds. */
export const PACE_ALIASES = { '--batch-size': '--chunk-size' }

/** Adds the flags for the collection, and for the wallets of rows that don't specify a wallet. */
export function addTargetFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '-c, --contract <address>', "Address or name of the drop's collection", { parse: notEmpty })
  valueFlag(command, '-b, --blockchain <name>', 'Blockchain of the collection', { parse: blockchainName })
  valueFlag(command, '--receiver <address>', 'Receiver for rows without one', {
    parse: addressOrName,
  })
  valueFlag(command, '--sender <address>', 'First owner of the NFTs whose row has no sender', {
    parse: addressOrName,
  })
  addEnsFlags(command)
  return addColumnFlags(command)
}

/** Adds the flags that map manifest columns to documented columns. */
export function addColumnFlags(command: GdnCommand, group?: string): GdnCommand {
  valueFlag(command, '--map <column=meaning>', 'Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable', {
    group,
    parse: parseColumnMapping,
    repeatable: true,
  })
  return valueFlag(command, '--unknown-columns <as>', 'Treat unknown columns as attr, extra, ignore or error (error)', {
    group,
    parse: oneOf(UNKNOWN_COLUMNS),
  })
}

/** Parses `column=meaning`, where the meaning is the name of a documented column, or `ignore`. */
const parseColumnMapping: Parse<KeyValue> = (raw, flag) => {
  const mapping = keyValue(raw, flag)
  const { key, value } = mapping
  const problem = meaningProblem(value)
  if (problem === null) return mapping
  const near = nearest(value, [...COLUMN_NAMES, IGNORED_MEANING])
  const suggestion = near === undefined ? '' : `Did you mean ${mapFlag(key, near)}? `
  throw new GdnError('usage', problem, {
    place: { flag },
    hint: `${suggestion}Specify a column of the manifest and its meaning, such as --map Mood=attr:Mood. To ignore the column, add ${mapFlag(key, IGNORED_MEANING)}. Run \`gdn help manifest\` to list the meanings.`,
  })
}

export function addCheckFlag(command: GdnCommand): GdnCommand {
  return switchFlag(command, '--check-files', 'Also check that every file URL returns a file')
}

export function addUnrevealedFlag(command: GdnCommand, about: string, group?: string): GdnCommand {
  return valueFlag(command, '--unrevealed <file>', about, { group, parse: notEmpty })
}

/** Adds the flags of a shuffled drop. */
export function addShuffleFlags(command: GdnCommand, group?: string): GdnCommand {
  const about = 'Use a later drand round to assign the rows to NFTs at random (requires --unrevealed)'
  switchFlag(command, '--shuffle', about, group)
  return valueFlag(
    command,
    '--shuffle-margin <time>',
    'Time from sealing the drop to the drand round, at least the time to finality (30m)',
    {
      group,
      parse: duration,
    },
  )
}

/** Adds the flags for a list of receivers. */
export function addListFlags(command: GdnCommand): GdnCommand {
  const group = 'Receivers'
  const about = 'Mint the only row to each receiver in a CSV file (receiver[,count]) or a group, such as @team'
  valueFlag(command, '--to <file>', about, { group, parse: notEmpty })
  switchFlag(command, '--to-stdin', 'Read the list of receivers from standard input', group)
  switchFlag(command, '--merge', 'Add up the counts of receivers that are listed more than once', group)
  return switchFlag(command, '--skip-contracts', 'Skip receivers that are contracts or burn addresses', group)
}

const RUN_GROUP = 'Run'

/** Adds the flags that control a run. */
export function addRunFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--run <name>', "Name that identifies the run (the manifest's path)", {
    group: RUN_GROUP,
    parse: notEmpty,
  })
  switchFlag(command, '--again', 'Mint a finished run again, or rows that were accepted in another run', RUN_GROUP)
  switchFlag(command, '--new-rows', 'Mint new rows even if sent rows are missing from the manifest', RUN_GROUP)
  addDuplicatesFlag(command, RUN_GROUP)
  switchFlag(command, '--adopt', 'Treat rows that are already in the collection as minted by this run', RUN_GROUP)
  addExchangedFlag(command, RUN_GROUP)
  switchFlag(
    command,
    '--no-lookup',
    "Don't search the collection for rows before sending; with --dry-run, don't contact the server",
    RUN_GROUP,
  )
  valueFlag(command, '--marker-key <key>', 'Metadata key for a unique public value that identifies each row', {
    group: RUN_GROUP,
    parse: notEmpty,
  })
  switchFlag(command, '--dynamic', 'Mint dynamic NFTs, whose metadata can be updated', RUN_GROUP)
  addPaceFlags(command)
  return switchFlag(command, '--in-order', "Send rows in the manifest's order", RUN_GROUP)
}

export function addDuplicatesFlag(command: GdnCommand, group?: string): GdnCommand {
  return switchFlag(command, '--allow-duplicates', 'Mint duplicate rows without a prompt', group)
}

export function addExchangedFlag(command: GdnCommand, group?: string): GdnCommand {
  return switchFlag(command, '--allow-exchanged', 'Allow rows to exchange values, content or IDs', group)
}

/**
 * Adds flags for the size and rate of requests, the number of concurrent uploads, and the time to wait for an
 * up-to-date list of NFTs.
 */
export function addPaceFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--chunk-size <n>', 'NFTs per request (50)', { group: RUN_GROUP, parse: integer(1, 1000) })
  return addRateFlag(command)
}

export function addRateFlag(command: GdnCommand): GdnCommand {
  valueFlag(command, '--rate <n>', 'Maximum number of requests per second', { group: RUN_GROUP, parse: positiveNumber })
  valueFlag(command, '--upload-concurrency <n>', 'Number of concurrent uploads of local files (8)', {
    group: RUN_GROUP,
    parse: integer(1, 64),
  })
  return valueFlag(
    command,
    '--listing-wait <time>',
    'How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)',
    { group: RUN_GROUP, parse: duration },
  )
}

export function addSendingFlags(command: GdnCommand): GdnCommand {
  addWaitFlags(command, undefined, {
    yes: "Don't prompt before spending coins that have value, or if rows were edited",
    dryRun: 'Run all checks without sending anything',
    noWait: 'Return when all requests are accepted',
  })
  addVerifyFlags(command)
  addCostFlags(command)
  addMaxCostFlag(command, 'the run')
  valueFlag(command, '--max-fee-gwei <gwei>', 'Maximum gas price; the run waits while the price is higher', {
    group: 'Cost',
    parse: parseMaxFee,
  })
  addServerFlags(command)
  return addOutputFlags(command)
}
