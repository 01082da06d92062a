import type { Blockchain } from '../../../api/blockchains.ts'
import type { NftMetadata } from '../../../api/metadata.ts'
import type { MintEndpoint } from '../../../api/mint-endpoints.ts'
import { findTypedTraitInRequest } from '../../../api/typed-trait.ts'
import { isMaxSupplyError } from '../../../batch/supply.ts'
import { noTypedTraitsError } from '../../../client/learn-support.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { DEFAULT_WAIT_MS } from '../../../operations/defaults.ts'
import type { AcceptedOperation } from '../../../operations/types.ts'
import { createMintedCheck } from '../../../operations/waiting.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import { confirmSpending } from '../../cost/confirm-spending.ts'
import { readMintFees } from '../../cost/paid.ts'
import { estimateMaxRequestUse } from '../../cost/run-limit.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import type { DataRecord, Output } from '../../render/output.ts'
import { versionHint } from '../../request/api-version.ts'
import { connectForDryRun, printDryRun } from '../../request/dry-run.ts'
import { operateOnce, quoteOperation } from '../../request/operate-once.ts'
import { showWaitForNfts } from '../../request/waiting.ts'
import { hashLocalFiles, type LocalFile, replaceUrls, uploadLocalFiles } from './media.ts'
import type { NftFlags } from './mint-flags.ts'
import { refuseHiddenNfts } from './refuse-hidden.ts'
import { howToEnableTransfer } from './transfer-hint.ts'

/** A validated request of createnft, creatednft or createnfttrans. */
interface NftRequest {
  contract_address: string
  blockchain: Blockchain
  sender_wallet_address?: string | undefined
  receiver_wallet_address: string
  metadata: NftMetadata[]
}

interface NftCreation {
  endpoint: MintEndpoint
  request: NftRequest
  localFiles: readonly LocalFile[]
  flags: NftFlags
  settings: Settings
  output: Output
}

/** Creates NFTs, waits until they are deployed, and prints them. For a grant, also waits until they are transferred. */
export async function createNfts(deps: Deps, creation: NftCreation): Promise<void> {
  const { endpoint, request, localFiles, flags, settings } = creation
  const verb = endpoint === 'createnfttrans' ? 'Grant' : 'Mint'
  const asGiven = replaceUrls(request, new Map(localFiles.map((file) => [file.placeholder, file.path])))
  if (flags.dryRun) {
    deps.checkPlan?.({ request: { ...asGiven } })
    const { blockchain } = request
    await refuseInDryRun(deps, creation)
    await quoteOperation(deps, settings, flags, { endpoint, blockchain, content: request })
    return await printDryRun(deps.io, settings, endpoint, asGiven)
  }
  const connection = await deps.connect(settings)
  const { client } = connection
  const nftCount = request.metadata.length
  const hashes = await hashLocalFiles(localFiles)
  const { blockchain, contract_address: contract, metadata } = request
  const refuseHidden = () =>
    refuseHiddenNfts(deps, connection, flags, { blockchain, contract, metadata, localFiles, what: 'mint' })
  await operateOnce(
    deps,
    connection,
    flags,
    {
      endpoint,
      blockchain,
      contract,
      content: replaceUrls(request, hashes),
      note: `nft ${verb.toLowerCase()}`,
      checkRepetition: refuseHidden,
      async request(limit) {
        deps.checkPlan?.({ request: { ...asGiven } })
        await refuseHidden()
        const action = `${verb} ${count(nftCount, 'NFT')} for ${request.receiver_wallet_address}`
        const priced = { limit, maxUse: () => estimateMaxRequestUse(endpoint, request) }
        await confirmSpending(deps, connection, { yes: flags.yes, blockchain, action, priced })
        return replaceUrls(request, await uploadLocalFiles(deps, client, localFiles, hashes))
      },
    },
    (accepted) => finish(deps, connection, creation, accepted),
  ).catch((error: unknown) => {
    if (error instanceof GdnError && isMaxSupplyError(error.message)) {
      throw error.with({
        hint: `Mint ${nftCount === 1 ? 'it' : 'them'} in another collection, because the maximum supply can't be raised.`,
      })
    }
    if (endpoint !== 'createnfttrans' || !(error instanceof GdnError)) throw error
    const { message, details } = error
    const isExplained = error.hint !== undefined && !message.includes('enable_transfer')
    if (error.code !== 'refused' || isExplained) throw error
    const hint = versionHint(settings, message) ?? howToEnableTransfer(connection, message, request)
    throw hint === undefined ? error : new GdnError('refused', message, { hint, details, cause: error })
  })
}

/**
 * Refuses a dry run that would publish hidden metadata. Also refuses typed traits if the server reports that it doesn't
 * support them. The server doesn't need to be running.
 */
async function refuseInDryRun(deps: Deps, { request, localFiles, flags, settings }: NftCreation): Promise<void> {
  const connection = await connectForDryRun(deps, settings)
  if (connection === null) return
  const { blockchain, contract_address: contract, metadata } = request
  const published = { blockchain, contract, metadata, localFiles, what: 'mint' } as const
  await refuseHiddenNfts(deps, connection, flags, published).catch((error: unknown) => {
    if (!(error instanceof GdnError) || error.code !== 'unreachable') throw error
  })
  const trait = findTypedTraitInRequest(request)
  if (trait === undefined) return
  await connection.client.learnCapabilities({ signal: deps.signals.signal })
  if (connection.client.supports('traits') === false) throw noTypedTraitsError(trait)
}

/** Prints the accepted NFTs, or waits until they are deployed. */
async function finish(
  deps: Deps,
  connection: Connection,
  { endpoint, request, flags, output }: NftCreation,
  operation: AcceptedOperation,
) {
  const { io } = deps
  const { server } = connection
  const sentRequest = JSON.parse(operation.request.body) as NftRequest
  const accepted = operation.accepted.nfts.map(({ nft_gdn_id, accepted_date }, i) => ({
    nft_gdn_id,
    token_id: null,
    status: 'initiated',
    contract_address: request.contract_address,
    blockchain: request.blockchain,
    ...(sentRequest.sender_wallet_address === undefined
      ? {}
      : { sender_wallet_address: sentRequest.sender_wallet_address }),
    receiver_wallet_address: request.receiver_wallet_address,
    request_metadata: sentRequest.metadata[i] ?? null,
    metadata_url: null,
    accepted_date,
  }))
  const print = async (records: readonly DataRecord[]) =>
    await (accepted.length === 1 && records[0] !== undefined ? output.one(records[0]) : output.many(records))
  if (flags.wait === false) {
    await print(accepted)
    const ids = accepted.map((nft) => safe(nft.nft_gdn_id)).join(' ')
    io.note(`Accepted. To wait for deployment: gdn nft wait ${ids}${serverFlag(server)}`)
    return { ended: true, state: null, problem: null }
  }
  const ids = accepted.map((nft) => nft.nft_gdn_id)
  const timeout = flags.timeout ?? DEFAULT_WAIT_MS
  const until = { isDone: createMintedCheck(endpoint, sentRequest), isAccepted: true }
  const { records, pending, problem } = await showWaitForNfts(deps, connection, ids, timeout, until)
  const paid = problem === null ? await readMintFees(deps, connection, ids) : null
  const recordById = new Map(records.map((record) => [record.nft_gdn_id, record]))
  await print(accepted.map((nft) => ({ ...nft, ...recordById.get(nft.nft_gdn_id), ...paid?.get(nft.nft_gdn_id) })))
  const ended = pending.length === 0
  if (problem === null && output.mode !== 'ids') {
    io.note(`Next: gdn nft list${serverFlag(server)} -c ${request.contract_address} -b ${request.blockchain}`)
  }
  return { ended, state: ended ? (problem === null ? 'deployed' : 'failed') : null, problem } as const
}
