import type { EvmBlockchain } from '../../../api/blockchains.ts'
import type { Chains } from '../../chain/chains.ts'
import { collectionAddress } from '../../chain/evm/collection-init.ts'
import { readCollectionState, readLifecycle, readMetadataState, readOwnerOf } from '../../chain/evm/collection-reads.ts'
import { MAX_UPDATES } from '../../chain/evm/collection-updates.ts'
import { currentFees } from '../../chain/evm/cost/cached-fees.ts'
import { computeMaxGasPerNft } from '../../chain/evm/cost/drop-gas.ts'
import { computeMaxCostOfNfts, readRunBudget } from '../../chain/evm/cost/run-budget.ts'
import { explainFeeWait } from '../../chain/evm/cost/run-fee.ts'
import { EMBEDDED_FEES } from '../../chain/evm/evm-signer.ts'
import type { Hex } from '../../chain/evm/network.ts'
import { readContractUri, readOwnerSettings } from '../../chain/evm/owner/settings.ts'
import { explainFeeCapWait } from '../../chain/evm/remote/fees.ts'
import { hasMaxCost } from '../../chain/fees.ts'
import { findCoinSymbol } from '../../settings/networks.ts'
import type { CollectionRow } from '../../store/collections.ts'
import type { ChainFacts, ContractFacts, GasFacts } from '../facts.ts'
import { readBlock } from './follow-owners.ts'
import { findChangeWaitReason } from './limit-fees.ts'
import { findMintWaitReason } from './mint-bundle.ts'
import { findStuckRun } from './public-network/stuck-at-limit.ts'

type Contract = Pick<CollectionRow, 'contract_address'>

/** Returns the functions that read the state and the rules of an EVM chain, embedded or public. */
export function createEvmFacts(chains: Chains, blockchain: EvmBlockchain): ChainFacts {
  const network = () => chains.network(blockchain)
  const requireDeployed = <Value>(value: Value | null, { contract_address }: Contract): Value => {
    if (value !== null) return value
    throw new Error(`${blockchain} has no contract at ${contract_address}`)
  }
  return {
    async predictAddresses(db, collection) {
      const factory_address = await chains.getFactoryAddress(db, blockchain)
      return { factory_address, contract_address: collectionAddress({ ...collection, factory_address }) }
    },

    async readState(collection) {
      const contract = collection.contract_address as Hex
      return requireDeployed(await readCollectionState(await network(), contract), collection)
    },

    async readLifecycle(collection) {
      const lifecycle = await readLifecycle(await network(), collection.contract_address as Hex)
      const { frozen, enableBurn, updateCount } = requireDeployed(lifecycle, collection)
      return { isFrozen: frozen, enableBurn, hasUpdatesLeft: updateCount < MAX_UPDATES }
    },

    async readOwner({ contract_address }, tokenId) {
      return await readOwnerOf(await network(), contract_address as Hex, BigInt(tokenId))
    },

    async readToken({ contract_address }, { tokenId }) {
      const { revision, dynamic, frozen } = await readMetadataState(
        await network(),
        contract_address as Hex,
        BigInt(tokenId),
      )
      return { revision, isDynamic: dynamic, isFrozen: frozen, isBurned: false }
    },

    async readBlockTime(number) {
      if (!chains.remote.has(blockchain)) return null
      const block = await readBlock(await network(), number)
      return block === null ? null : Number(block.timestamp) * 1000
    },

    async readFinalitySeconds() {
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

type OpenNetwork = () => ReturnType<Chains['network']>

const contractFacts = (network: OpenNetwork): ContractFacts => ({
  async readSettings(address) {
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

  readMetadataUri: async (address) => await readContractUri(await network(), address as Hex),
})

const gasFacts = (chains: Chains, blockchain: EvmBlockchain): GasFacts => ({
  blockchain,
  readBudget: readRunBudget,
  computeMaxCostOfNfts,
  maxPerNft: computeMaxGasPerNft,
  isSimulated: !chains.remote.has(blockchain),
  readCoin: async () => findCoinSymbol((await chains.network(blockchain)).chainId),

  async readFees() {
    const { publicNetwork } = await chains.network(blockchain)
    const max = publicNetwork?.feeCap ?? EMBEDDED_FEES.maxFeePerGas
    return { ...(await currentFees(chains, blockchain)), max }
  },

  findBestFundedSigner: () => chains.remote.findBestFunded(blockchain),
  findShortage: async () => (chains.remote.has(blockchain) ? await chains.remote.shortage(blockchain) : null),

  async findPriceWaitReason(db, run, current) {
    const { publicNetwork } = chains.remote.has(blockchain) ? chains.remote.network(blockchain) : {}
    const waiting =
      explainFeeWait(run.max_fee, current) ??
      (publicNetwork === undefined ? null : explainFeeCapWait({ baseFee: current.base }, publicNetwork.feeCap))
    if (waiting !== null || !hasMaxCost(run)) return waiting
    const { offered, typical, base } = current
    const fees = { maxFeePerGas: offered, maxPriorityFeePerGas: typical - base }
    return (await findMintWaitReason(db, run, fees, current)) ?? (await findChangeWaitReason(db, run, fees, current))
  },

  findStuckRun: async (db, run, current) =>
    chains.remote.has(blockchain) ? await findStuckRun(db, run, current) : null,

  async countBlocksUntilFinal(block) {
    if (!chains.remote.has(blockchain)) return null
    const { head, finality } = chains.remote.network(blockchain).publicNetwork
    return Math.max(1, block + finality - 1 - (await head()))
  },
})
