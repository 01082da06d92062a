import { existsSync } from 'node:fs'
import { formatUnits } from 'viem'
import { GdnError } from '../../core/errors.ts'
import { tokenCosts } from '../chain/solana/costs.ts'
import { openKeypair } from '../chain/solana/open-keypair.ts'
import { createRemoteSolana, type RemoteSolana } from '../chain/solana/remote/remote-solana.ts'
import { clusterName } from '../settings/solana-clusters.ts'
import type { ClusterSettings } from '../settings/types.ts'
import { findChain } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import { type Examined, examine, msSince } from './examined.ts'

const TIMEOUT_MS = 5000
/** Of what is asked of nodes that have answered: funds aren't at fault where one is busy for a moment. */
const TRIES = 3
/** Tokens that the funds of the signer should be enough for: fewer are refused, or soon will be. */
const LEAST_TOKENS = 10n
const FEW_TOKENS = 200n
const DECIMALS = 9
/** The system program, which every cluster has. */
const ANY_ACCOUNT = '1'.repeat(32)

/** A Solana cluster by RPC URL: whether each of its nodes answers and is of it, and its signer was accepted and can pay. */
export async function examineCluster(
  settings: ClusterSettings,
  store: Store | null,
  credentialsDirectory: string | undefined,
): Promise<Examined[]> {
  const nodes = await Promise.all(settings.rpcUrls.map((url) => examineNode(settings, url)))
  const urls = settings.rpcUrls.filter((_, index) => nodes[index]?.status === 'ok')
  if (urls.length === 0) return nodes
  const network = open(settings, urls, TRIES)
  try {
    const signer = await examine(`${settings.blockchain} signer`, () =>
      examineSigner(network, settings, store, credentialsDirectory),
    )
    return [...nodes, signer]
  } finally {
    await network.close()
  }
}

const open = (settings: ClusterSettings, urls: readonly string[], tries = 1): RemoteSolana =>
  createRemoteSolana({ ...settings, urls, tries, timeoutMs: TIMEOUT_MS })

function examineNode(settings: ClusterSettings, url: string): Promise<Examined> {
  return examine(`${settings.blockchain} node`, async () => {
    const { host } = new URL(url)
    const network = open(settings, [url])
    try {
      const block = await network.blockHeight()
      // The first answer has told its genesis as well, and opened the connection. Behind one URL there may be several
      // nodes, of which the next may have a lower block: that is nothing to complain about.
      const since = performance.now()
      await network.balance(ANY_ACCOUNT)
      const cluster = clusterName(settings.genesisHash)
      return { message: `${host} answers in ${msSince(since)} ms, is of the cluster ${cluster}, at block ${block}` }
    } finally {
      await network.close()
    }
  })
}

async function examineSigner(
  network: RemoteSolana,
  { blockchain, signer }: ClusterSettings,
  store: Store | null,
  credentialsDirectory: string | undefined,
): Promise<{ message: string; fix?: string }> {
  const accepted = store === null ? undefined : ((await findChain(store.db, blockchain))?.factory_address ?? null)
  if (accepted === null) {
    throw new GdnError('invalid_config', `${blockchain} is not set up: its signer was not accepted`, {
      hint: `gdn chain setup ${blockchain} --dry-run shows what tokens cost there`,
    })
  }
  // A process that only takes requests has no key, and needs none.
  const isHere = signer.keypair_file === undefined || existsSync(signer.keypair_file)
  const address = accepted !== undefined && !isHere ? accepted : openKeypair(signer, credentialsDirectory).address
  if (accepted !== undefined && accepted !== address) {
    throw new GdnError('invalid_config', `${blockchain} was set up for the signer ${accepted}, not for ${address}`, {
      hint: 'give the keypair that it was set up with',
    })
  }
  const [{ nft }, balance] = await Promise.all([
    tokenCosts(network, await network.computeUnitPrice()),
    network.balance(address),
  ])
  const funds = `${address} has ${formatUnits(balance, DECIMALS)} SOL`
  if (balance < LEAST_TOKENS * nft) {
    throw new GdnError('invalid_config', `${funds}, and an NFT costs ${formatUnits(nft, DECIMALS)}`, {
      hint: `send some to ${address}; until then nothing is accepted`,
    })
  }
  const left = `${funds}, enough for ${balance / nft} NFTs`
  return balance >= FEW_TOKENS * nft ? { message: left } : { message: left, fix: `send some to ${address}` }
}
