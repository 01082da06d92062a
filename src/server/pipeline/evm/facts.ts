import type { EvmBlockchain } from '../../../api/blockchains.ts'
import type { Chains } from '../../chain/chains.ts'
import { collectionAddress } from '../../chain/evm/collection-init.ts'
import { readCollectionState, readLifecycle, readMetadataState, readOwnerOf } from '../../chain/evm/collection-reads.ts'
import { MAX_UPDATES } from '../../chain/evm/collection-updates.ts'
import { currentFees } from '../../chain/evm/cost/cached-fees.ts'
import { maxPerNft } from '../../chain/evm/cost/drop-gas.ts'
import { budgetOf, maxCostOfNfts } from '../../chain/evm/cost/run-budget.ts'
import { waitingForFees } from '../../chain/evm/cost/run-fee.ts'
import { EMBEDDED_FEES } from '../../chain/evm/evm-signer.ts'
import type { Hex } from '../../chain/evm/network.ts'
import { readContractUri, readOwnerSettings } from '../../chain/evm/owner/settings.ts'
import { waitingFor } from '../../chain/evm/remote/fees.ts'
import { hasMaxCost } from '../../chain/fees.ts'
import { coinOf } from '../../settings/networks.ts'
import type { CollectionRow } from '../../store/collections.ts'
import type { ChainFacts, ContractFacts, GasFacts } from '../facts.ts'
import { readBlock } from './follow-owners.ts'
import { changeBlockedByCost } from './limit-fees.ts'
import { mintBlockedByCost } from './mint-bundle.ts'
import { stuckAtLimit } from './public-network/stuck-at-limit.ts'

type Contract = Pick<CollectionRow, 'contract_address'>

/** Returns the functions that read the state and the rules of an EVM chain, embedded or public. */
export function createEvmFacts(chains: Chains, blockchain: EvmBlockchain): ChainFacts {
  const network = () => chains.network(blockchain)
  const requireDeployed = <Value>(value: Value | null, { contract_address }: Contract): Value => {
    if (value !== null) return value
    throw new Error(`${blockchain} has no contract at ${contract_address}`)
  }
  return {
    async addressesFor(db, collection) {
      const factory_address = await chains.factory(db, blockchain)
      return { factory_address, contract_address: collectionAddress({ ...collection, factory_address }) }
    },

    async state(collection) {
      const contract = collection.contract_address as Hex
      return requireDeployed(await readCollectionState(await network(), contract), collection)
    },

    async lifecycle(collection) {
      const lifecycle = await readLifecycle(await network(), collection.contract_address as Hex)
      const { frozen, enableBurn, updateCount } = requireDeployed(lifecycle, collection)
      return { frozen, enableBurn, hasUpdatesLeft: updateCount < MAX_UPDATES }
    },

    async ownerOf({ contract_address }, tokenId) {
      return await readOwnerOf(await network(), contract_address as Hex, BigInt(tokenId))
    },

    async token({ contract_address }, { tokenId }) {
      const state = await readMetadataState(await network(), contract_address as Hex, BigInt(tokenId))
      return { ...state, burned: false }
    },

    async blockTime(number) {
      if (!chains.remote.has(blockchain)) return null
      const block = await readBlock(await network(), number)
      return block === null ? null : Number(block.timestamp) * 1000
    },

    async finalitySeconds() {
      const opened = await network()
      if (opened.publicNetwork === undefined) return null
      const newest = await opened.publicNetwork.head()
      const at = [newest, Math.max(0, newest - opened.publicNetwork.finality)]
      const [to, from] = await Promise.all(at.map((block) => readBlock(opened, block)))
      if (!to || !from) throw new Error(`no node of ${blockchain} has the newest blocks`)
      return Number(to.timestamp) - Number(from.timestamp)
    },

    contract: contractFacts(network),
    gas: gasFacts(chains, blockchain),
  }
}

type AskNetwork = () => ReturnType<Chains['network']>

const contractFacts = (network: AskNetwork): ContractFacts => ({
  async settings(address) {
    const settings = await readOwnerSettings(await network(), address as Hex)
    return {
      wallet_address: settings.owner,
      pending_wallet_address: settings.pendingOwner,
      enable_api: settings.enableApi,
      enable_transfer: settings.enableTransfer,
      is_frozen: settings.frozen,
      max_supply: settings.maxSupply === null ? null : Number(settings.maxSupply),
      royalty_bps: settings.royalty?.basisPoints ?? 0,
      royalty_receiver: settings.royalty?.receiver ?? null,
      contract_uri: settings.contractUri,
    }
  },

  metadataUri: async (address) => await readContractUri(await network(), address as Hex),
})

const gasFacts = (chains: Chains, blockchain: EvmBlockchain): GasFacts => ({
  blockchain,
  budgetOf,
  maxCostOfNfts,
  maxPerNft,
  isSimulated: !chains.remote.has(blockchain),
  coin: async () => coinOf((await chains.network(blockchain)).chainId),

  async fees() {
    const { publicNetwork } = await chains.network(blockchain)
    const max = publicNetwork?.feeCap ?? EMBEDDED_FEES.maxFeePerGas
    return { ...(await currentFees(chains, blockchain)), max }
  },

  bestFunded: () => chains.remote.bestFunded(blockchain),
  shortage: async () => (chains.remote.has(blockchain) ? await chains.remote.shortage(blockchain) : null),

  async waitingForPrice(db, run, current) {
    const { publicNetwork } = chains.remote.has(blockchain) ? chains.remote.network(blockchain) : {}
    const waiting =
      waitingForFees(run.max_fee, current) ??
      (publicNetwork === undefined ? null : waitingFor({ baseFee: current.base }, publicNetwork.feeCap))
    if (waiting !== null || !hasMaxCost(run)) return waiting
    const { offered, typical, base } = current
    const fees = { maxFeePerGas: offered, maxPriorityFeePerGas: typical - base }
    return (await mintBlockedByCost(db, run, fees, current)) ?? (await changeBlockedByCost(db, run, fees, current))
  },

  stuckAtLimit: async (db, run, current) =>
    chains.remote.has(blockchain) ? await stuckAtLimit(db, run, current) : null,

  async blocksUntilFinal(block) {
    if (!chains.remote.has(blockchain)) return null
    const { head, finality } = chains.remote.network(blockchain).publicNetwork
    return Math.max(1, block + finality - 1 - (await head()))
  },
})
