import {
  BLOCKCHAIN_NAMES,
  type Blockchain,
  EVM_BLOCKCHAINS,
  type EvmBlockchain,
  isEvm,
} from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import type { ChainPlace } from '../../../server/setup/setup.ts'
import { type GdnCommand, valueFlag, wordArgument } from '../../command.ts'
import { addDataDirFlag, administeredPlace, type DataDirFlags } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { blockchainName, notEmpty } from '../../flags/parse.ts'

export interface ChainFlags extends DataDirFlags {
  config?: string
}

export function addChainFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--config <file>', 'Configuration of the backend (backend.yaml in the data directory)', {
    parse: notEmpty,
  })
  return addDataDirFlag(command)
}

export const addBlockchainArgument = (command: GdnCommand): GdnCommand =>
  wordArgument(command, '<blockchain>', BLOCKCHAIN_NAMES)

/** @throws GdnError `usage` for a word that names no blockchain */
export const anyBlockchain = (word: string): Blockchain => blockchainName(word, '<blockchain>')

/** @throws GdnError `usage` for a word that names no EVM blockchain */
export function evmBlockchain(word: string): EvmBlockchain {
  const blockchain = anyBlockchain(word)
  if (isEvm(blockchain)) return blockchain
  throw new GdnError('usage', `transactions on ${blockchain} are not listed and have no fees to raise`, {
    hint: `Use one of ${EVM_BLOCKCHAINS.join(', ')}.`,
  })
}

export async function chainPlace(
  deps: Pick<Deps, 'env' | 'cwd' | 'io' | 'settings' | 'identify'>,
  flags: ChainFlags,
): Promise<ChainPlace> {
  return {
    ...(await administeredPlace(deps, flags)),
    credentialsDirectory: deps.env.CREDENTIALS_DIRECTORY,
  }
}
