import type { Blockchain } from '../../api/blockchains.ts'
import type { Server } from '../../config/server.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { knownBlock } from '../../holders/block-of.ts'
import { NoCode } from '../../holders/read-holders.ts'
import { type Block, blockAt } from '../../verify/block-at.ts'
import { type ContractReader, contractReader } from '../../verify/contract/answers.ts'
import type { Deps } from '../deps.ts'
import { withProgress } from '../io/progress.ts'
import { openChain } from './open-chain.ts'
import type { ReaderFlags } from './open-verifier.ts'

export interface ContractTarget {
  contract: string
  blockchain: Blockchain
  /** The server; null if the user specifies a node. */
  server: Pick<Server, 'baseUrl' | 'loopback'> | null
  flags: ReaderFlags
  stateDir: string
}

export interface OpenContract {
  reader: ContractReader
  /** The block at which all data is read. */
  block: Block
  /** The code at the address. It is never empty. */
  code: string
}

/**
 * Calls `work` with a reader of a contract at the newest block of its chain.
 *
 * @throws GdnError `usage` if the address has no code (the error lists the networks on which it has code); `bad_answer`
 * if the block was replaced in the meantime
 */
export async function withContract<Result>(
  deps: Deps,
  { contract, blockchain, server, flags, stateDir }: ContractTarget,
  work: (open: OpenContract) => Promise<Result>,
): Promise<Result> {
  const chain = await openChain(deps, flags, blockchain, server, undefined)
  const node = chain.reader
  try {
    return await withProgress(deps.io, 'Reading the contract', async () => {
      const block = await blockAt(node, 'latest')
      if (block === null) throw new GdnError('bad_answer', `${node.origin} does not return its newest block`)
      const reader = contractReader(node, contract, `0x${block.number.toString(16)}`)
      const code = await reader.codeAt(contract)
      if ('problem' in code) throw new GdnError('bad_answer', `the code at ${contract} ${code.problem}`)
      if (code.value === '0x') throw new NoCode(contract, block.number)
      const result = await work({ reader, block, code: code.value })
      const blockAfter = await knownBlock(node, block.number, deps.sleep, deps.signals.signal)
      if (blockAfter?.hash === block.hash) return result
      throw new GdnError('bad_answer', `a reorg replaced block ${block.number} while gdn read the contract`, {
        hint: 'Run the same command again.',
      })
    })
  } catch (error) {
    if (!(error instanceof NoCode)) throw error
    const { withNetworks } = await import('./networks-with-code.ts')
    throw await withNetworks(deps, { contract, blockchain, server, stateDir }, error)
  } finally {
    await chain.close()
  }
}

/** Returns the output fields that identify a block. */
export const blockData = ({ number, hash, time }: Block) => ({
  block_number: number,
  block_hash: hash,
  block_time: new Date(time).toISOString(),
})

export const refuseSolana = (blockchain: Blockchain): GdnError =>
  flagError('--blockchain', `gdn can't read contracts of ${blockchain}`, 'Use an EVM network.')
