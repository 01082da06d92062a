import { randomUUID } from 'node:crypto'
import { type Blockchain, isBlockchain } from '../../api/blockchains.ts'
import { loadEndpoint } from '../../api/endpoints.ts'
import type { RawEndpoint } from '../../client/api-client.ts'
import type { TransportResponse } from '../../client/transport.ts'
import { flagError } from '../../core/errors.ts'
import { GdnCommand } from '../command.ts'
import { knownCollections } from '../connect/known-collections.ts'
import type { PricedRequests } from '../cost/at-most.ts'
import { ACCEPTED_CONTINUE_NOTE, confirmRaise, confirmSpending } from '../cost/confirm-spending.ts'
import { estimateMaxRequestUse, isPriced } from '../cost/run-limit.ts'
import type { Connection, Deps } from '../deps.ts'
import { addCommonFlags, addServerFlags, type CommonFlags, notEmpty, type ServerFlags } from '../flags/common.ts'
import { safe } from '../io/io.ts'
import { type BodyField, bodyField, readApiBody } from '../request/api-body.ts'
import { findEndpoint, JSON_ENDPOINTS, mayHaveEffect } from '../request/api-endpoint.ts'
import { awaitResponse } from '../request/slow-response.ts'
import { knownBlockchain } from './nft/blockchain-of.ts'

export interface ApiFlags extends CommonFlags, ServerFlags {
  file?: string
  field?: BodyField[]
  idempotencyKey?: string
  dryRun?: boolean
  yes?: boolean
}

export function command(deps: Deps, run = api): GdnCommand {
  return new GdnCommand({
    about:
      'Specify the name of an endpoint, or a path that begins with /api/. The command prints the response to stdout, regardless of the HTTP status. If the response is an error, the command also reports it on stderr and sets the exit code. If a request creates something, gdn sends it only once and does not record it. Commands such as gdn nft mint are safer, because they record each request.',
    examples: [
      ['Get the details of an NFT', "gdn api getnfts --field 'nft_gdn_ids[]=0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'"],
      [
        'Send a request from a file or a pipe',
        'gdn api createnft -f request.json',
        'gdn api createnft -f - < request.json',
      ],
      [
        'Set a field to a value that is not a string',
        'gdn api createcollection -f c.json --field enable_transfer:=true',
      ],
    ],
    aliases: { '--input': '--file' },
  })
    .wordArgument('<endpoint>', JSON_ENDPOINTS)
    .valueFlag('-f, --file <file>', 'JSON request, or - for standard input', notEmpty)
    .valueFlag('--field <key=value>', 'Field of the request; key[]= adds to a list, key:= accepts JSON; repeatable', {
      parse: bodyField,
      repeatable: true,
    })
    .valueFlag(
      '--idempotency-key <key>',
      'Idempotency key of a request that creates something (a new key)',
      parseHeaderValue,
    )
    .switchFlag('--dry-run', 'Print the request without sending it')
    .switchFlag('-y, --yes', "Don't prompt before spending coins that have value")
    .switchFlag('--json', 'Print the response on one line, even in a terminal', 'Output')
    .with(addServerFlags, addCommonFlags)
    .action(async (nameOrPath: string, flags: ApiFlags) => await run(deps, nameOrPath, flags))
}

function parseHeaderValue(raw: string, flag: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(raw)) return raw
  throw flagError(flag, 'must be 1 to 255 printable characters without spaces')
}

export async function api(deps: Deps, nameOrPath: string, flags: ApiFlags): Promise<void> {
  const { io, signals } = deps
  const endpoint = findEndpoint(nameOrPath)
  const body = await readApiBody(io, flags.file, flags.field ?? [])
  const settings = await deps.settings(flags)
  if (flags.dryRun) return await printRequest(deps, flags, endpoint, body.value)
  const connection = await deps.connect(settings)
  const { client, server } = connection
  const hasEffect = await mayHaveEffect(endpoint)
  if (hasEffect) {
    const { blockchain } = body.value
    const on = typeof blockchain === 'string' && isBlockchain(blockchain) ? blockchain : null
    const action = `Send ${'name' in endpoint ? endpoint.name : endpoint.path}`
    const priced = await findPricedRequests(deps, connection, endpoint, body.value)
    await confirmSpending(deps, connection, { yes: flags.yes, blockchain: on, action, priced })
  } else await confirmLimit(deps, flags, connection, endpoint, body.value)
  const idempotencyKey = hasEffect ? (flags.idempotencyKey ?? randomUUID()) : null
  let response: TransportResponse | null = null
  const onResponse = (newResponse: TransportResponse) => {
    response = newResponse
  }
  try {
    const sending = client.raw(endpoint, Buffer.from(body.text), {
      idempotencyKey,
      signal: signals.signal,
      onResponse,
    })
    await awaitResponse(io, server.origin, sending)
  } finally {
    if (response !== null) await print(deps, flags, response)
    if (idempotencyKey !== null) io.debug(safe(`Idempotency-Key of the request: ${idempotencyKey}`))
  }
}

interface LimitRequest {
  max_cost?: string
  only_lower?: boolean
  max_fee?: string
  only_if_unset?: boolean
}

/**
 * Asks the user to confirm a request that raises a run's limit. After such a request, the server can carry out the
 * accepted requests that wait for a higher limit.
 */
async function confirmLimit(
  deps: Deps,
  { yes }: ApiFlags,
  connection: Connection,
  endpoint: RawEndpoint,
  body: object,
): Promise<void> {
  if (!('name' in endpoint)) return
  const { name } = endpoint
  if (name !== 'setrunmaxcost' && name !== 'setrunmaxfee') return
  const { request } = await loadEndpoint(name)
  // Don't report an invalid request here, because the server rejects it.
  const content = request.safeParse(body).data as (LimitRequest & { run: string; blockchain: Blockchain }) | undefined
  if (content === undefined || content.only_lower || content.only_if_unset) return
  const { run, blockchain, max_cost, max_fee } = content
  const limits = {
    run,
    maxCost: max_cost === undefined ? null : BigInt(max_cost),
    maxFee: max_fee === undefined ? null : BigInt(max_fee),
  }
  await confirmRaise(deps, yes, blockchain, connection, { ...limits, effect: ACCEPTED_CONTINUE_NOTE })
}

/** Returns the requests to price for the prompt; null if the request can't be priced. */
async function findPricedRequests(
  deps: Deps,
  connection: Connection,
  endpoint: RawEndpoint,
  body: object,
): Promise<PricedRequests | null> {
  if (!('name' in endpoint) || !isPriced(endpoint.name)) return null
  const { name } = endpoint
  const { request, v12 } = await loadEndpoint(name)
  const parsed = [request, v12.request].map((schema) => schema?.safeParse(body)).find((result) => result?.success)
  const content = parsed?.data
  if (content === undefined) return null
  return {
    limit: null,
    findBlockchain: () => findBlockchainOfRequest(deps, connection, Object(content)),
    maxUse: () => estimateMaxRequestUse(name, Object(content)),
  }
}

/**
 * Returns the blockchain of the collection in a request, or else the configured blockchain; null if neither is known.
 */
async function findBlockchainOfRequest(
  deps: Deps,
  connection: Connection,
  { contract_address }: { contract_address?: string },
): Promise<Blockchain | null> {
  const blockchain = knownBlockchain({ contract_address }, await knownCollections(deps, connection))
  return blockchain ?? connection.settings.blockchain?.value ?? null
}

/** Prints the response if it is JSON. Other responses are part of the error. */
async function print({ io }: Deps, { json }: ApiFlags, { body }: TransportResponse): Promise<void> {
  const text = Buffer.from(body).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return
  }
  await io.data(`${io.stdoutTty && json !== true ? JSON.stringify(value, null, 2) : text.trimEnd()}\n`)
}

async function printRequest(deps: Deps, flags: ApiFlags, endpoint: RawEndpoint, body: object): Promise<void> {
  const settings = await deps.settings(flags)
  const server = await settings.server().catch(() => null)
  const path = 'name' in endpoint ? `/api/v1/${endpoint.name}` : endpoint.path
  const url = `${server?.baseUrl ?? settings.baseUrl?.value ?? ''}${path}`
  const isShort = flags.json === true || !deps.io.stdoutTty
  await deps.io.data(`${JSON.stringify({ method: 'POST', url, body }, null, isShort ? undefined : 2)}\n`)
  deps.io.note('Nothing was sent (--dry-run).')
}
