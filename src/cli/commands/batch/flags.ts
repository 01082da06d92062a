import type { Blockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { meaningProblem, UNKNOWN_COLUMNS, type UnknownColumns } from '../../../manifest/columns.ts'
import { type GdnCommand, type Parse, switchFlag, valueFlag } from '../../command.ts'
import { addVerifyFlags, type VerifyFlags } from '../../connect/open-verifier.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import {
  address,
  blockchainName,
  duration,
  integer,
  type KeyValue,
  keyValue,
  notEmpty,
  oneOf,
  positiveNumber,
} from '../../flags/parse.ts'
import { addWaitFlags, type WaitFlags } from '../../flags/wait.ts'

/** Flags of the commands that send a manifest. */
export interface BatchMintFlags extends OutputFlags, ServerFlags, WaitFlags, VerifyFlags {
  contract?: string
  blockchain?: Blockchain
  receiver?: string
  sender?: string
  map?: KeyValue[]
  unknownColumns?: UnknownColumns
  run?: string
  again?: boolean
  newRows?: boolean
  chunkSize?: number
  rate?: number
  uploadConcurrency?: number
  inOrder?: boolean
  markerKey?: string
  adopt?: boolean
  /** False with --no-lookup. */
  lookup?: boolean
  listingWait?: number
  dryRun?: boolean
  checkFiles?: boolean
  yes?: boolean
}

/** Other names of the flags that say where a manifest goes. */
export const TARGET_ALIASES = {
  '--contract-address': '--contract',
  '--contract-addresses': '--contract',
  '--receiver-wallet-address': '--receiver',
  '--sender-wallet-address': '--sender',
}

/** Where the rows of a manifest go, as far as they leave it open. */
export function addTargetFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '-c, --contract <address>', 'Collection to mint in', { parse: notEmpty })
  valueFlag(command, '-b, --blockchain <name>', 'Its blockchain', { parse: blockchainName })
  valueFlag(command, '--receiver <address>', 'Wallet of rows that name none', { parse: address })
  valueFlag(command, '--sender <address>', 'First owner of rows that name none', { parse: address })
  return addColumnFlags(command)
}

/** What the columns of a manifest mean. */
export function addColumnFlags(command: GdnCommand, group?: string): GdnCommand {
  const inGroup = group === undefined ? {} : { group }
  valueFlag(command, '--map <column=meaning>', 'Read a column as another, such as Mood=attr:Mood; repeatable', {
    ...inGroup,
    parse: columnMapping,
    repeatable: true,
  })
  return valueFlag(command, '--unknown-columns <as>', 'Read unknown columns as attr, extra or error (error)', {
    ...inGroup,
    parse: oneOf(UNKNOWN_COLUMNS),
  })
}

/** `column=meaning`, where the meaning is a column of the documentation. */
const columnMapping: Parse<KeyValue> = (raw, flag) => {
  const mapping = keyValue(raw, flag)
  const problem = meaningProblem(mapping.value)
  if (problem === null) return mapping
  throw new GdnError('usage', problem, {
    place: { flag },
    hint: 'Name a column of the manifest and its meaning, such as --map Mood=attr:Mood. Run `gdn help manifest` to list them.',
  })
}

/** Before anything is sent. */
export function addCheckFlag(command: GdnCommand): GdnCommand {
  return switchFlag(command, '--check-files', 'Ask for every file URL first, a few at a time')
}

const RUN = 'The run'

/** How a run is sent. */
export function addRunFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--run <name>', 'Name of the run; without it, the path of the manifest', {
    group: RUN,
    parse: notEmpty,
  })
  switchFlag(command, '--again', 'Mint a second drop: of a finished run, or of rows accepted in another run', RUN)
  switchFlag(command, '--new-rows', 'Mint new rows though sent rows are not in the manifest anymore', RUN)
  switchFlag(command, '--adopt', 'Take rows that are in the collection already as minted by this run', RUN)
  switchFlag(
    command,
    '--no-lookup',
    "Don't look into the collection before rows are sent; with --dry-run, don't ask the server",
    RUN,
  )
  valueFlag(
    command,
    '--marker-key <key>',
    'Give each row a value of its own under this key of its metadata, to find it by; it becomes public',
    {
      group: RUN,
      parse: notEmpty,
    },
  )
  addPaceFlags(command)
  return switchFlag(command, '--in-order', "Keep the manifest's order of rows", RUN)
}

/** How many rows to a request, how many requests a second. */
export function addPaceFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--chunk-size <n>', 'NFTs to a request (50)', { group: RUN, parse: integer(1, 1000) })
  return addRateFlag(command)
}

export function addRateFlag(command: GdnCommand): GdnCommand {
  valueFlag(command, '--rate <n>', 'Requests a second', { group: RUN, parse: positiveNumber })
  valueFlag(command, '--upload-concurrency <n>', 'Local files uploaded at a time (8)', {
    group: RUN,
    parse: integer(1, 64),
  })
  return valueFlag(
    command,
    '--listing-wait <time>',
    "How long the collection's list is given to catch up before its word is taken (30s, more where it lags)",
    { group: RUN, parse: duration },
  )
}

export function addSendingFlags(command: GdnCommand): GdnCommand {
  addWaitFlags(command, 'all are deployed')
  addVerifyFlags(command)
  addServerFlags(command)
  return addOutputFlags(command)
}
