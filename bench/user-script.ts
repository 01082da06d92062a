import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Abi, createPublicClient, createWalletClient, type Hex, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { WALLET } from './backend.ts'

/** The default mnemonic of anvil. */
const ANVIL_MNEMONIC = 'test test test test test test test test test test test junk'

export interface UserScript {
  url: string
  contract: { abi: readonly unknown[]; bytecode: Hex }
  /** The folder of the metadata files. */
  folder: string
  count: number
  image: (index: number) => string
}

/**
 * A script that a user would write without gdn: a contract with URI storage, then for each NFT its metadata file, its
 * transaction and its receipt. For a fair comparison, viem polls every 10 ms instead of every 4 s.
 *
 * @returns NFTs per second, without the deployment of the contract
 */
export async function mintOneByOne({ url, contract, folder, count, image }: UserScript): Promise<number> {
  const transport = http(url)
  const account = mnemonicToAccount(ANVIL_MNEMONIC)
  const wallet = createWalletClient({ account, chain: foundry, transport, pollingInterval: 10 })
  const chain = createPublicClient({ chain: foundry, transport, pollingInterval: 10 })
  const abi = contract.abi as Abi
  const deployment = await wallet.deployContract({ abi, bytecode: contract.bytecode, args: ['Bench', 'BEN'] })
  const { contractAddress } = await chain.waitForTransactionReceipt({ hash: deployment })
  if (!contractAddress) throw new Error('the contract was not deployed')

  const since = performance.now()
  for (let index = 0; index < count; index++) {
    const metadata = JSON.stringify({
      name: `Number ${index}`,
      description: 'One of many, created for a benchmark.',
      image: image(index),
    })
    await writeFile(join(folder, `${index}.json`), metadata)
    const uri = `ipfs://${createHash('sha256').update(metadata).digest('hex')}`
    const hash = await wallet.writeContract({
      address: contractAddress,
      abi,
      functionName: 'mint',
      args: [WALLET, uri],
    })
    const { status } = await chain.waitForTransactionReceipt({ hash })
    if (status !== 'success') throw new Error(`the transaction of NFT ${index} ${status}`)
  }
  return count / ((performance.now() - since) / 1000)
}
