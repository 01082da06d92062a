import { BLOCKCHAINS, type Blockchain, type EvmBlockchain, isEvm } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import type { ChainPlace } from '../../../server/setup/setup.ts'
import { type GdnCommand, valueFlag, wordArgument } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { blockchainName, notEmpty } from '../../flags/parse.ts'
import { addDataDirFlag, type DataDirFlags, databasePlace } from '../key/key-data-dir.ts'

export interface ChainFlags extends DataDirFlags {
  config?: string
}

const EVM = (Object.keys(BLOCKCHAINS) as Blockchain[]).filter(isEvm)

export function addChainFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--config <file>', 'Settings of the backend (backend.yaml of the data dir)', { parse: notEmpty })
  return addDataDirFlag(command)
}

export const addBlockchainArgument = (command: GdnCommand): GdnCommand => wordArgument(command, '<blockchain>', EVM)

/** @throws GdnError `usage` for a word that names no EVM blockchain */
export function evmBlockchain(word: string): EvmBlockchain {
  const blockchain = blockchainName(word, '<blockchain>')
  if (isEvm(blockchain)) return blockchain
  throw new GdnError('usage', `${blockchain} is reached as an embedded chain only`, {
    hint: `by RPC URL there are ${EVM.join(', ')}`,
  })
}

export function chainPlace(deps: Pick<Deps, 'env' | 'cwd'>, flags: ChainFlags): ChainPlace {
  return {
    ...databasePlace(deps, flags),
    credentialsDirectory: deps.env.CREDENTIALS_DIRECTORY,
  }
}
