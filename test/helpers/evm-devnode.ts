import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { startEmbeddedChain } from '../../src/server/chain/evm/embedded/embedded-chain.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import { memoryBlockJournal } from './memory-block-journal.ts'

export interface SentTransaction {
  hash: Hex
  status: 'success' | 'reverted'
  gasUsed: bigint
  contractAddress: Hex | null
  logs: { address: Hex; topics: [Hex, ...Hex[]]; data: Hex }[]
}

/** A fresh embedded chain that signs for its accounts, for contract tests. */
export interface DevNode {
  accounts: readonly Hex[]
  request<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /** Signs a transaction, mines a block and returns the receipt. A revert is a result, not an error. */
  send(transaction: {
    from: Hex
    to?: Hex
    data: Hex
    gas?: bigint | undefined
    value?: bigint
  }): Promise<SentTransaction>
  stop(): Promise<void>
}

const CHAIN_ID = 137

export async function startDevNode(options: { accounts?: number } = {}): Promise<DevNode> {
  const stateDir = await mkdtemp(path.join(tmpdir(), 'gdn-devnode-'))
  const chain = await startEmbeddedChain({
    blockchain: 'polygon',
    chainId: CHAIN_ID,
    journal: memoryBlockJournal(),
    stateDir,
  })
  const signers = Array.from({ length: options.accounts ?? 10 }, (_, index) =>
    privateKeyToAccount(keccak256(`0x${index.toString(16).padStart(64, '0')}`)),
  )
  const byAddress = new Map(signers.map((signer) => [signer.address.toLowerCase(), { signer, nonce: 0 }]))

  const send: DevNode['send'] = async ({ from, to, data, gas = 100_000_000n, value = 0n }) => {
    const account = byAddress.get(from.toLowerCase())
    if (account === undefined) throw new Error(`no key for ${from}`)
    const raw = await account.signer.signTransaction({
      type: 'eip1559',
      chainId: CHAIN_ID,
      nonce: account.nonce,
      to: to ?? null,
      data,
      gas,
      value,
      maxFeePerGas: 100_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
    })
    const [outcome] = await chain.broadcast([raw])
    if (outcome?.outcome !== 'accepted') throw new Error(JSON.stringify(outcome))
    account.nonce += 1
    const receipt = await chain.request<{
      status: Hex
      gasUsed: Hex
      contractAddress: Hex | null
      logs: SentTransaction['logs']
    }>('eth_getTransactionReceipt', [outcome.hash])
    return {
      hash: outcome.hash,
      status: receipt.status === '0x1' ? 'success' : 'reverted',
      gasUsed: BigInt(receipt.gasUsed),
      contractAddress: receipt.contractAddress,
      logs: receipt.logs,
    }
  }
  return {
    accounts: signers.map((signer) => signer.address.toLowerCase() as Hex),
    request: (method, params) => chain.request(method, params),
    send,
    async stop() {
      await chain.close()
      await rm(stateDir, { recursive: true, force: true })
    },
  }
}
