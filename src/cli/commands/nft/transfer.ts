import type * as z from 'zod'
import { transfernft, transferRequestV12Schema } from '../../../api/endpoints/transfernft.ts'
import { findStatus } from '../../../client/responses.ts'
import { GdnError } from '../../../core/errors.ts'
import { DEFAULT_WAIT_MS } from '../../../operations/defaults.ts'
import type { AcceptedOperation } from '../../../operations/types.ts'
import { GdnCommand } from '../../command.ts'
import { findCollection } from '../../connect/find-collection.ts'
import { knownCollections } from '../../connect/known-collections.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import { confirmSpending } from '../../cost/confirm-spending.ts'
import { toPaidFee, withPaid } from '../../cost/paid.ts'
import { estimateMaxRequestUse } from '../../cost/run-limit.ts'
import type { Connection, Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addressOrName,
  addServerFlags,
  addWaitFlags,
  blockchainName,
  notEmpty,
} from '../../flags/common.ts'
import { addEnsFlags } from '../../flags/ens.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type Output } from '../../render/output.ts'
import { shortAddress } from '../../render/short-address.ts'
import { TRANSFER_VIEW } from '../../render/views.ts'
import { isV12, versionHint } from '../../request/api-version.ts'
import { checkRequest } from '../../request/check-request.ts'
import { printDryRun } from '../../request/dry-run.ts'
import { addOperationFlags, operateOnce, quoteOperation } from '../../request/operate-once.ts'
import { showWaitForTransfer } from '../../request/waiting.ts'
import { knownBlockchain, multipleNftsError } from './blockchain-of.ts'
import { resolveTokenArguments } from './token-reference.ts'
import { findTransferredToken } from './token-to-transfer.ts'
import { howToEnableTransfer } from './transfer-hint.ts'
import {
  AlreadyOwnedError,
  completeTransfer,
  findTransferBlockchain,
  readTransfer,
  resolveTransfer,
  type TransferFlags,
} from './transfer-request.ts'

type TransferRequest = z.output<typeof transferRequestV12Schema>

export function command(deps: Deps, run = transfer): GdnCommand {
  return new GdnCommand({
    about:
      'Specify the NFT by its ID, by <contract>/<token ID>, or by its token ID and --contract. gdn looks up the token ID, contract, blockchain and current owner unless flags set them. The collection must let the API transfer NFTs (--enable-transfer). The API does not transfer NFTs on Solana.',
    examples: [
      [
        'Transfer an NFT to a new owner',
        'gdn nft transfer 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d \\',
        '  --receiver @bob',
      ],
      ['Transfer token 12 of a collection', 'gdn nft transfer 12 -c "Tidal Hours" --receiver @bob'],
      ['Send a JSON request from standard input', 'gdn nft transfer -f - --json < transfer.json'],
      [
        'Print the request without sending it',
        'gdn nft transfer 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d \\',
        '  --receiver @bob --dry-run',
      ],
    ],
    aliases: {
      '--contract-address': '--contract',
      '--contract-addresses': '--contract',
      '--receiver-wallet-address': '--receiver',
      '--to': '--receiver',
      '--sender-wallet-address': '--sender',
      '--tokenid': '--token-id',
      '--nft-gdn-ids': '--nft-gdn-id',
    },
  })
    .argument('[nft_gdn_id]')
    .valueFlag('--receiver <address>', 'New owner: an address, @name or ENS name', addressOrName)
    .valueFlag('--sender <address>', 'Current owner', addressOrName)
    .valueFlag('--token-id <id>', 'Token ID', notEmpty)
    .valueFlag('-c, --contract <address>', "Address or name of the NFT's collection", notEmpty)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the NFT', blockchainName)
    .valueFlag('--nft-gdn-id <id>', 'Same as the argument', { parse: notEmpty, hidden: true })
    .valueFlag('-f, --file <file>', 'JSON request, or - for standard input; flags override its fields', notEmpty)
    .with(
      addEnsFlags,
      (own) => addWaitFlags(own, 'the owner changes'),
      addOperationFlags,
      addServerFlags,
      addOutputFlags,
    )
    .action(async (id: string | undefined, flags: TransferFlags) => await run(deps, id, flags))
}

export async function transfer(deps: Deps, id: string | undefined, flags: TransferFlags): Promise<void> {
  const output = createOutput(deps.io, flags, withPaid(TRANSFER_VIEW))
  await sendTransfer(deps, id, flags, output).catch(async (error: unknown) => {
    if (!(error instanceof AlreadyOwnedError)) throw error
    const { nft_gdn_id, token_id, status, contract_address, receiver_wallet_address } = error.nft
    if (flags.dryRun) await output.many([])
    else {
      deps.checkPlan?.({})
      await output.one({ nft_gdn_id, token_id, status, contract_address, receiver_wallet_address })
    }
    deps.io.note('The receiver already owns the NFT. Nothing was sent.')
  })
}

async function sendTransfer(deps: Deps, id: string | undefined, flags: TransferFlags, output: Output): Promise<void> {
  if (id !== undefined && flags.nftGdnId !== undefined && id !== flags.nftGdnId) {
    throw multipleNftsError()
  }
  const settings = await deps.settings(flags)
  const { contract: _contract, ...serverFlags } = flags
  const [nft] = await resolveTokenArguments(deps, id === undefined ? [] : [id], serverFlags)
  const unresolved = await readTransfer(deps, nft, flags)
  const connection = await deps.connect(settings)
  const resolved = await resolveTransfer(
    deps,
    connection,
    flags,
    await findTransferredToken(deps, connection, unresolved),
  )
  let sentRequest: Partial<TransferRequest> = {}
  const complete = async () => {
    const schema = isV12(settings) ? transferRequestV12Schema : transfernft.request
    const request = checkRequest(schema, await completeTransfer(deps, connection, resolved), resolved.file)
    sentRequest = request
    return request
  }
  const { server } = connection
  const content = { nft_gdn_id: resolved.nftGdnId, receiver_wallet_address: resolved.receiver }
  const findBlockchain = () => findTransferBlockchain(deps, connection, resolved)
  if (flags.dryRun) {
    const quoted = { endpoint: 'transfernft', blockchain: null, findBlockchain, content } as const
    await quoteOperation(deps, settings, flags, quoted)
    const request = await complete()
    await refuseUntransferable(deps, connection, request)
    deps.checkPlan?.({ [resolved.nftGdnId]: request })
    return await printDryRun(deps.io, settings, 'transfernft', request)
  }

  await operateOnce(
    deps,
    connection,
    flags,
    {
      endpoint: 'transfernft',
      blockchain: null,
      findBlockchain,
      contract: null,
      // Omit the sender, which gdn looks up, because it changes when the transfer takes effect.
      content,
      note: 'nft transfer',
      async request(limit) {
        const request = await complete()
        await refuseUntransferable(deps, connection, request)
        deps.checkPlan?.({ [resolved.nftGdnId]: request })
        const blockchain = request.blockchain ?? knownBlockchain(request, await knownCollections(deps, connection))
        const priced = { limit, maxUse: () => estimateMaxRequestUse('transfernft', request) }
        await confirmSpending(deps, connection, { yes: flags.yes, blockchain, action: formatQuestion(request), priced })
        return request
      },
    },
    (operation) => finish(deps, connection, { flags, output }, operation),
  ).catch((error: unknown) => {
    if (!(error instanceof GdnError) || error.code !== 'refused' || findStatus(error) !== 400) throw error
    const { message, details } = error
    const hints = [
      message.includes('enable_transfer')
        ? undefined
        : (versionHint(settings, message) ??
          `Run \`gdn nft show ${safe(resolved.nftGdnId)}${serverFlag(server)}\` to see its owner.`),
      howToEnableTransfer(connection, message, sentRequest),
    ]
    const hint = hints.filter((line) => line !== undefined).join('\n')
    throw new GdnError('refused', message, { hint, details, cause: error })
  })
}

/**
 * Refuses an NFT if its collection is known not to permit transfers.
 *
 * @throws GdnError `refused`
 */
async function refuseUntransferable(deps: Deps, connection: Connection, request: TransferRequest): Promise<void> {
  const collection = await findCollection(deps, connection, request.contract_address)
  const why = collection?.is_locked
    ? 'the NFTs of this collection are locked'
    : collection?.enable_transfer === false
      ? 'enable_transfer is off for this collection'
      : null
  if (why === null) return
  const fix = howToEnableTransfer(connection, why, { ...request, blockchain: collection?.blockchain })
  throw new GdnError('refused', why, { hint: ['Nothing was sent.', fix].filter(Boolean).join(' ') })
}

/**
 * Returns the question for the prompt. Shortens only addresses that the user already knows. The user must be able to
 * compare the full address of the new owner.
 */
function formatQuestion({
  token_id,
  contract_address,
  sender_wallet_address,
  receiver_wallet_address,
}: TransferRequest) {
  const [contract, sender] = [contract_address, sender_wallet_address].map(shortAddress)
  return `Transfer token ${token_id} of ${contract} from ${sender} to ${receiver_wallet_address}`
}

/** Prints the accepted transfer, or waits until it takes effect. */
async function finish(
  deps: Deps,
  connection: Connection,
  { flags, output }: { flags: TransferFlags; output: Output },
  operation: AcceptedOperation,
) {
  const { io } = deps
  const { transaction_gdn_id, accepted_date } = operation.accepted
  const sentRequest = JSON.parse(operation.request.body) as TransferRequest
  const accepted = { ...sentRequest, status: 'initiated', transaction_gdn_id, accepted_date }
  const show = `gdn nft show ${safe(sentRequest.nft_gdn_id)}${serverFlag(connection.server)}`
  if (flags.wait === false) {
    await output.one(accepted)
    io.note(`Accepted. To show the owner of the NFT: ${show}`)
    return { ended: true, state: null, problem: null }
  }
  const { seen, ended, problem } = await showWaitForTransfer(
    deps,
    connection,
    {
      nftGdnId: sentRequest.nft_gdn_id,
      sender: sentRequest.sender_wallet_address,
      receiver: sentRequest.receiver_wallet_address,
      transactionId: transaction_gdn_id,
    },
    flags.timeout ?? DEFAULT_WAIT_MS,
  )
  const { status = accepted.status, transaction_hash, error } = seen
  await output.one({ ...accepted, status, transaction_hash, ...toPaidFee(seen), error })
  if (problem === null && output.mode !== 'ids') io.note(`Next: ${show}`)
  return { ended, state: ended ? (problem === null ? 'deployed' : 'failed') : null, problem } as const
}
