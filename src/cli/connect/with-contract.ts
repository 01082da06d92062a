import type { Blockchain } from '../../api/blockchains.ts'
import type { Server } from '../../config/server.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { hexQuantity } from '../../core/hex-quantity.ts'
import { BLOCKS_TO_TRY, isStatePruned } from '../../core/pruned-state.ts'
import { readKnownBlock } from '../../holders/block-of.ts'
import { NoCodeError } from '../../holders/read-holders.ts'
import { type Block, readBlockAt } from '../../verify/block-at.ts'
import type { CallResult, ChainReader } from '../../verify/chain-reader.ts'
import { type ContractReader, createContractReader } from '../../verify/contract/contract-reader.ts'
import type { Deps } from '../deps.ts'
import { withProgress } from '../io/progress.ts'
import { openChain } from './open-chain.ts'
import type { ReaderFlags } from './open-verifier.ts'

export interface ContractTarget {
  contract: string
  blockchain: Blockchain
  /** The server; null if the user specifies a node. */
  server: Pick<Server, 'baseUrl' | 'isLoopback'> | null
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
 * Calls `work` with a reader of a contract at the newest block of its chain. Calls it again with a newer block if the
 * node no longer has the state of the block.
 *
 * @param work must only read
 * @throws GdnError `usage` if the address has no code (the error lists the networks on which it has code); `bad_answer`
 * if the block was replaced in the meantime
 */
export async function withContract<Result>(
  deps: Deps,
  { contract, blockchain, server, flags, stateDir }: ContractTarget,
  work: (open: OpenContract) => Promise<Result>,
): Promise<Result> {
  const chain = await openChain(deps, flags, blockchain, server, undefined)
  try {
    return await withProgress(deps.io, 'Reading the contract', async () => {
      for (let attempt = 1; ; attempt++) {
        const watched = watchPrunedState(chain.reader)
        try {
          const result = await readAtNewestBlock(deps, watched.node, contract, work)
          if (!watched.isPruned()) return result
        } catch (error) {
          if (!watched.isPruned()) throw error
        }
        if (attempt === BLOCKS_TO_TRY) throw tooManyBlocksError(chain.reader)
      }
    })
  } catch (error) {
    if (!(error instanceof NoCodeError)) throw error
    const { addNetworksToError } = await import('./networks-with-code.ts')
    throw await addNetworksToError(deps, { contract, blockchain, server, stateDir }, error)
  } finally {
    await chain.close()
  }
}

async function readAtNewestBlock<Result>(
  deps: Deps,
  node: ChainReader,
  contract: string,
  work: (open: OpenContract) => Promise<Result>,
): Promise<Result> {
  const block = await readBlockAt(node, 'latest')
  if (block === null) throw new GdnError('bad_answer', `${node.origin} does not return its newest block`)
  const reader = createContractReader(node, contract, hexQuantity(block.number))
  const code = await reader.codeAt(contract)
  if ('problem' in code) throw new GdnError('bad_answer', `the code at ${contract} ${code.problem}`)
  if (code.value === '0x') throw new NoCodeError(contract, block.number)
  const result = await work({ reader, block, code: code.value })
  const blockAfter = await readKnownBlock(node, block.number, deps.sleep, deps.signals.signal)
  if (blockAfter?.hash === block.hash) return result
  throw new GdnError('bad_answer', `a reorg replaced block ${block.number} while gdn read the contract`, {
    hint: 'Run the same command again.',
  })
}

/** Watches whether a call fails because the node no longer has the state of the block. */
function watchPrunedState(reader: ChainReader) {
  let isPruned = false
  const watch = async (reading: Promise<CallResult[]>) => {
    const results = await reading
    isPruned ||= results.some((result) => result.kind === 'failed' && isStatePruned(result.message))
    return results
  }
  const node: ChainReader = {
    ...reader,
    call: (calls, block) => watch(reader.call(calls, block)),
    codeAt: (addresses, block) => watch(reader.codeAt(addresses, block)),
    storageAt: (address, slots, block) => watch(reader.storageAt(address, slots, block)),
  }
  return { node, isPruned: () => isPruned }
}

const tooManyBlocksError = ({ origin }: ChainReader) =>
  new GdnError('bad_answer', `${origin} mined a new block during each attempt to read the contract`, {
    hint: 'Run the same command again when fewer transactions are being sent.',
  })

/** Returns the output fields that identify a block. */
export const blockData = ({ number, hash, time }: Block) => ({
  block_number: number,
  block_hash: hash,
  block_time: new Date(time).toISOString(),
})

export const solanaError = (blockchain: Blockchain): GdnError =>
  flagError('--blockchain', `gdn can't read contracts on ${blockchain}`, 'Use an EVM network.')
