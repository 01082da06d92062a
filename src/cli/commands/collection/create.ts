import type * as z from 'zod'
import type { Blockchain } from '../../../api/blockchains.ts'
import { createcollection } from '../../../api/endpoints/createcollection.ts'
import { fileUrlProblem } from '../../../api/file-url.ts'
import { hasFailed } from '../../../api/nft-status.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import type { AcceptedOperation } from '../../../operations/types.ts'
import { GdnCommand } from '../../command.ts'
import { rememberCollection } from '../../connect/known-collections.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import { confirmSpending } from '../../cost/confirm-spending.ts'
import { readTransactionFee, withPaid } from '../../cost/paid.ts'
import { estimateMaxRequestUse } from '../../cost/run-limit.ts'
import type { Connection, Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addressOrName,
  addServerFlags,
  addWaitFlags,
  blockchainName,
  integer,
  notEmpty,
  type OutputFlags,
  percentage,
  type ServerFlags,
  type WaitFlags,
} from '../../flags/common.ts'
import { addEnsFlags, type EnsFlags } from '../../flags/ens.ts'
import { safe } from '../../io/io.ts'
import { parseRequest, readInput, toInputName } from '../../io/request-file.ts'
import { mayPrompt } from '../../prompt/ask-missing.ts'
import { COLLECTION_VIEW } from '../../render/collection-view.ts'
import { createOutput, type Output } from '../../render/output.ts'
import { checkRequest } from '../../request/check-request.ts'
import { connectForDryRun, printDryRun } from '../../request/dry-run.ts'
import { resolveEnsFields } from '../../request/ens-names.ts'
import { resolveConfiguredWallet, resolveNamesInFields, toWalletPlace } from '../../request/named-addresses.ts'
import { addOperationFlags, type OperationFlags, operateOnce, quoteOperation } from '../../request/operate-once.ts'
import { showWaitForCollection } from '../../request/waiting.ts'
import { warnOfQuotes } from '../../word-processor.ts'
import { missingWalletHint, promptForMissingFields } from './ask-for-missing.ts'
import type { SettingFlags } from './set/flags.ts'

/** The settings that can be set at creation and changed later. */
type CreationSettings = Pick<
  SettingFlags,
  'description' | 'image' | 'enableTransfer' | 'enableApi' | 'royalty' | 'royaltyReceiver' | 'maxSupply'
>

export interface CreateFlags extends CreationSettings, OutputFlags, ServerFlags, WaitFlags, OperationFlags, EnsFlags {
  name?: string
  blockchain?: Blockchain
  wallet?: string
  locked?: boolean
  dynamic?: boolean
  enableBurn?: boolean
  file?: string
  dryRun?: boolean
  yes?: boolean
}

export function command(deps: Deps, run = create): GdnCommand {
  return new GdnCommand({
    about:
      'A collection is a smart contract that belongs to a wallet. The command prints the contract address and saves it for later commands.',
    examples: [
      [
        'Create a wallet and a collection on the local backend',
        'gdn wallet generate --local --name alice',
        'gdn collection create --local --name "First light" -b polygon --wallet @alice',
      ],
      ['Print only the address, for a script', 'gdn collection create -f collection.json -o ids'],
      [
        'Print the request without sending it',
        'gdn collection create --name Dawn -b polygon --wallet @alice --dry-run',
      ],
    ],
    aliases: { '--wallet-address': '--wallet', '--is-locked': '--locked' },
  })
    .valueFlag('--name <name>', 'Name of the collection', notEmpty)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the collection', blockchainName)
    .valueFlag('--wallet <address>', 'Wallet that owns the collection: an address, @name or ENS name', addressOrName)
    .valueFlag('--description <text>', 'Description; Solana requires one')
    .valueFlag('--image <url>', 'Image URL; Solana requires one')
    .eitherFlag(
      'enable-transfer',
      'Let the API transfer NFTs',
      "Don't let the API transfer NFTs (the default; gdn prompts in a terminal)",
    )
    .eitherFlag('enable-api', 'Let the API mint NFTs (the default)', "Don't let the API mint NFTs")
    .switchFlag('--locked', 'Prevent all transfers of NFTs permanently')
    .switchFlag('--dynamic', 'Let the API update the metadata of NFTs')
    .switchFlag('--enable-burn', 'Let the API burn NFTs')
    .valueFlag('--royalty <percent>', 'Royalty on sales, such as 5%', percentage)
    .valueFlag(
      '--royalty-receiver <address>',
      'Address, @name or ENS name that receives the royalty (the owner)',
      addressOrName,
    )
    .valueFlag(
      '--max-supply <n>',
      'Maximum number of NFTs, including burned ones (unlimited)',
      integer(1, Number.MAX_SAFE_INTEGER),
    )
    .valueFlag('-f, --file <file>', 'JSON request, or - for standard input; flags override its fields', notEmpty)
    .with(
      addEnsFlags,
      (own) => addWaitFlags(own, 'the collection is deployed'),
      addOperationFlags,
      addServerFlags,
      addOutputFlags,
    )
    .action(async (flags: CreateFlags) => await run(deps, flags))
}

export async function create(deps: Deps, flags: CreateFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, withPaid(COLLECTION_VIEW))
  warnOfQuotes(io, '--name', flags.name)
  const settings = await deps.settings(flags)
  // Report a missing server before the prompts.
  if (mayPrompt(io) && !flags.dryRun) await settings.server()
  const request = await readCollectionRequest(deps, settings, flags)
  if (flags.dryRun) return await printCreateDryRun(deps, settings, { request, flags })

  const connection = await deps.connect(settings)
  await operateOnce(
    deps,
    connection,
    flags,
    {
      endpoint: 'createcollection',
      blockchain: request.blockchain,
      contract: null,
      content: request,
      note: 'collection create',
      async request(limit) {
        deps.checkPlan?.({ request })
        await refuseUnlessKnown(deps, connection, request)
        const action = `Create the collection "${request.name}"`
        const priced = { limit, maxUse: () => estimateMaxRequestUse('createcollection', request) }
        await confirmSpending(deps, connection, { yes: flags.yes, blockchain: request.blockchain, action, priced })
        return request
      },
    },
    (operation) => finish(deps, connection, { request, flags, output }, operation),
  ).catch((error: unknown) => {
    throw withWalletHint(error, connection.server)
  })
}

/** Returns the request from the flags, the request file and the prompts. */
async function readCollectionRequest(deps: Deps, settings: Settings, flags: CreateFlags): Promise<NewCollection> {
  const file = flags.file === undefined ? null : toInputName(flags.file)
  const fromFile =
    flags.file === undefined || file === null
      ? {}
      : await resolveNamesInFields(parseRequest(await readInput(deps.io, flags.file), file), file, deps.addresses)
  refuseWrongFlags(flags, fromFile)
  const optionalFields = {
    ...(await promptForMissingFields(deps, flags, {
      name: flags.name ?? fromFile.name,
      blockchain: flags.blockchain ?? fromFile.blockchain ?? settings.blockchain?.value,
      wallet_address:
        flags.wallet ?? fromFile.wallet_address ?? (await resolveConfiguredWallet(settings, deps.addresses)),
      description: flags.description ?? fromFile.description,
      image: flags.image ?? fromFile.image,
      enable_transfer: flags.enableTransfer ?? fromFile.enable_transfer,
      is_locked: flags.locked ?? fromFile.is_locked,
      dynamic: flags.dynamic ?? fromFile.dynamic,
      enable_burn: flags.enableBurn ?? fromFile.enable_burn,
    })),
    enable_api: flags.enableApi,
    royalty_bps: flags.royalty,
    royalty_receiver: flags.royaltyReceiver,
    max_supply: flags.maxSupply,
  }
  const fields: Record<string, unknown> = { ...fromFile, ...withoutUndefined(optionalFields) }
  const { wallet_address, royalty_receiver, blockchain: network } = fields
  const addressFields = { wallet_address, royalty_receiver }
  const addresses = await resolveEnsFields(deps, { settings, flags, blockchain: network }, addressFields, (field) => {
    const isWallet = field === 'wallet_address'
    if ((isWallet ? flags.wallet : flags.royaltyReceiver) !== undefined) {
      return { flag: isWallet ? '--wallet' : '--royalty-receiver' }
    }
    if (file !== null && fromFile[field] !== undefined) return { file, field }
    return settings.wallet?.value === wallet_address ? toWalletPlace(settings.wallet) : { flag: '--wallet' }
  })
  try {
    return checkRequest(createcollection.request, { ...fields, ...withoutUndefined(addresses) }, file)
  } catch (error) {
    if (!(error instanceof GdnError) || file !== null || wallet_address !== undefined) throw error
    throw error.withHint(await missingWalletHint(deps, flags))
  }
}

/** Returns the fields that are not undefined. */
const withoutUndefined = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

async function printCreateDryRun(
  deps: Deps,
  settings: Settings,
  { request, flags }: Pick<CreateContext, 'request' | 'flags'>,
): Promise<void> {
  deps.checkPlan?.({ request })
  const { blockchain } = request
  if (needsSupport(request).length > 0) {
    const connection = await connectForDryRun(deps, settings)
    if (connection !== null) await refuseUnlessKnown(deps, connection, request)
  }
  await quoteOperation(deps, settings, flags, { endpoint: 'createcollection', blockchain, content: request })
  await printDryRun(deps.io, settings, 'createcollection', request)
}

/** Rejects flags that are invalid regardless of the answers to the prompts. */
function refuseWrongFlags(
  { image, royalty, royaltyReceiver }: CreateFlags,
  fromFile: Readonly<Record<string, unknown>>,
): void {
  const problem = image === undefined ? null : fileUrlProblem(image)
  if (problem !== null) {
    const hint =
      'For a local file, create the collection first. Then run `gdn collection set <address> --image <file>`.'
    throw flagError('--image', problem, hint)
  }
  if (royaltyReceiver !== undefined && !(royalty ?? fromFile.royalty_bps)) {
    throw flagError('--royalty-receiver', 'requires a royalty', 'Add --royalty <percent>.')
  }
}

/** Adds a hint to an error about the owner's address, for example if the address doesn't belong to the account. */
function withWalletHint(error: unknown, server: Server): unknown {
  const isRefusal = error instanceof GdnError && ['refused', 'forbidden', 'invalid_input'].includes(error.code)
  if (!isRefusal || !/owner|wallet|address/i.test(error.message)) return error
  return error.withHint(
    `Nothing was created. The service may accept only wallets that belong to the account of your API key. Run \`gdn wallet generate${serverFlag(server)} --name <name>\` to create one there, and use it with --wallet @<name>.`,
  )
}

type NewCollection = z.output<typeof createcollection.request>

/**
 * Lists the requested rights and limits that not every server supports. Each entry has the flag, the capability and the
 * purpose.
 */
const needsSupport = ({ dynamic, enable_burn, max_supply }: NewCollection) => [
  ...(dynamic ? ([['--dynamic', 'updates', 'update NFTs']] as const) : []),
  ...(enable_burn ? ([['--enable-burn', 'updates', 'burn NFTs']] as const) : []),
  ...(max_supply === undefined ? [] : ([['--max-supply', 'maxSupply', 'limit the supply of a collection']] as const)),
]

/** Refuses rights and limits that the server would ignore, because they can't be added to the collection later. */
async function refuseUnlessKnown(
  { signals: { signal } }: Deps,
  { client, server }: Connection,
  request: NewCollection,
): Promise<void> {
  for (const [flag, capability, action] of needsSupport(request)) {
    if (client.supports(capability) === null) await client.learnCapabilities({ signal })
    if (client.supports(capability) !== false) continue
    throw flagError(flag, `${safe(server.origin)} can't ${action}`, `Nothing was sent. Omit ${flag}.`)
  }
}

interface CreateContext {
  request: NewCollection
  flags: CreateFlags
  output: Output
}

/** Prints the accepted collection, or waits for its deployment. */
async function finish(
  deps: Deps,
  connection: Connection,
  { request, flags, output }: CreateContext,
  operation: AcceptedOperation,
) {
  const { io } = deps
  const { server } = connection
  const { transaction_gdn_id, accepted_date, at } = operation.accepted
  // The API doesn't list collections, so only a response with an ID shows that a collection was accepted.
  if (transaction_gdn_id === null) throw new Error('a collection was accepted without an ID')
  const collection = {
    transaction_gdn_id,
    contract_address: null,
    name: request.name,
    blockchain: request.blockchain,
    wallet_address: request.wallet_address,
    created_at: new Date(at).toISOString(),
  }
  await rememberCollection(deps, connection, collection)
  const accepted = { ...request, transaction_gdn_id, accepted_date, contract_address: null, status: 'initiated' }
  if (flags.wait === false) {
    await output.one(accepted)
    io.note(
      `Accepted. To show the address of the collection: gdn collection show ${safe(transaction_gdn_id)}${serverFlag(server)}`,
    )
    return { ended: true, state: null, problem: null }
  }
  const { record, problem } = await showWaitForCollection(deps, connection, transaction_gdn_id, flags.timeout)
  const contract_address = record?.contract_address ?? null
  if (contract_address !== null) await rememberCollection(deps, connection, { ...collection, contract_address })
  const { transaction_gdn_ids: _id, ...fields } = record ?? {}
  const paid = problem === null ? await readTransactionFee(deps, connection, transaction_gdn_id) : {}
  await output.one({ ...accepted, ...fields, ...paid })
  if (problem === null && output.mode !== 'ids') {
    const to = `-c ${safe(contract_address ?? '')} -b ${request.blockchain} --receiver ${request.wallet_address}`
    io.note(`Next: gdn nft mint${serverFlag(server)} ${to} --title Dawn`)
  }
  const isFailed = hasFailed(record?.status ?? '')
  const state = problem === null ? 'deployed' : isFailed ? 'failed' : null
  return { ended: state !== null, state, problem } as const
}
