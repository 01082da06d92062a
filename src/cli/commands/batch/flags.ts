import type { Blockchain } from '../../../api/blockchains.ts'
import { type GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { blockchainName, integer, notEmpty, positiveNumber } from '../../flags/parse.ts'
import { addWaitFlags, type WaitFlags } from '../../flags/wait.ts'

/** Flags of the commands that send a manifest. */
export interface BatchMintFlags extends OutputFlags, ServerFlags, WaitFlags {
  contract?: string
  blockchain?: Blockchain
  receiver?: string
  sender?: string
  extraColumns?: boolean
  run?: string
  again?: boolean
  chunkSize?: number
  rate?: number
  inOrder?: boolean
  dryRun?: boolean
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
  valueFlag(command, '--receiver <address>', 'Wallet of rows that name none', { parse: notEmpty })
  valueFlag(command, '--sender <address>', 'First owner of rows that name none', { parse: notEmpty })
  return switchFlag(command, '--extra-columns', 'Take unknown columns as extra keys; they become public')
}

const RUN = 'The run'

/** How a run is sent. */
export function addRunFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--run <name>', 'Name of the run; without it, the path of the manifest', {
    group: RUN,
    parse: notEmpty,
  })
  switchFlag(command, '--again', 'Order a second drop of a finished run', RUN)
  valueFlag(command, '--chunk-size <n>', 'NFTs to a request (50)', { group: RUN, parse: integer(1, 1000) })
  valueFlag(command, '--rate <n>', 'Requests a second', { group: RUN, parse: positiveNumber })
  return switchFlag(command, '--in-order', "Keep the manifest's order of rows", RUN)
}

export function addSendingFlags(command: GdnCommand): GdnCommand {
  addWaitFlags(command)
  addServerFlags(command)
  return addOutputFlags(command)
}
