import type * as z from 'zod'
import { blockchainLike, canonicalAddress } from '../../api/address.ts'
import type { Blockchain } from '../../api/blockchains.ts'
import type { Contracts, EndpointName } from '../../api/endpoints.ts'
import { TITLES } from '../../api/errors.ts'
import { CHAIN_ERRORS, HEADERS } from '../../api/headers.ts'
import { type FieldIssue, formatIssue } from '../../api/validate.ts'
import type { Secret } from '../../core/secret.ts'
import { shorten } from '../../core/shorten.ts'
import type { Chains } from '../chain/chains.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import { type CollectionRow, findCollectionsByAddress } from '../store/collections.ts'
import type { Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'

export interface ServiceDeps {
  store: Store
  chains: Chains
  storage: FileStorage
  checkedFiles: CheckedFiles
  pipeline: Pipeline
  signedUrls: {
    /** The signing secret in hex. */
    secret: Secret
    /** Whether a second POST to the same URL is rejected. */
    singleUse: boolean
    /** Returns the time in milliseconds since the epoch, from a clock that never goes backward. */
    clock: () => number
  }
  now: () => number
}

/** The cost limit of a run, as specified in a request. */
export interface RunCostLimit {
  wei: bigint
  /** Whether the user set the limit explicitly. Only an explicit limit can raise the run's limit. */
  isSet: boolean
}

/** A request that passed authentication and validation. */
export interface ServiceRequest<Parsed> {
  accountId: string
  /** The input, as parsed by the contract's schema. */
  parsed: Parsed
  /** The body as the client sent it, for fields that the response repeats. */
  body: Readonly<Record<string, unknown>>
  idempotencyKey: string | null
  /** A new, unique ID. It is independent of any ID that the client sends. */
  requestId: string
  /** The run that the request belongs to. The client chooses its name. */
  run: string | null
  /** The cost limit of the run; null if the request has none. */
  maxCost?: RunCostLimit | null
  /** Whether the request must be rejected if the blockchain's coins have value. */
  onlyWithoutValue?: boolean
  /**
   * Returns the origin to which the request was addressed.
   *
   * @throws Refusal if its Host header has no host
   */
  origin: () => string
}

/** The input of an endpoint, as parsed by its schema. */
export type InputOf<Name extends EndpointName> = z.output<Contracts[Name]['request']>

/** A request to an endpoint that passed authentication and validation. */
export type RequestOf<Name extends EndpointName> = ServiceRequest<InputOf<Name>>

type Title = (typeof TITLES)[keyof typeof TITLES]

/** A rejection by a service, with an HTTP status and the two texts of error form A. */
export class Refusal extends Error {
  readonly status: number
  readonly title: Title
  readonly headers: Readonly<Record<string, string>>
  /** Machine-readable fields in addition to the two texts. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    title: Title,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.title = title
    this.headers = headers
    this.details = details
  }
}

/** A rejection with its own code in error form B. */
export class CodedRefusal extends Refusal {
  readonly errorCode: string

  constructor(status: number, title: Title, errorCode: string, message: string) {
    super(status, title, message)
    this.name = 'CodedRefusal'
    this.errorCode = errorCode
  }
}

// Limit the size of the response, for example if a request has a million unknown fields.
const MAX_ISSUES = 50
const MAX_ISSUE_LENGTH = 1000

function textOfIssues(issues: readonly FieldIssue[]): string {
  const shownIssues = issues.slice(0, MAX_ISSUES).map((issue) => shorten(formatIssue(issue), MAX_ISSUE_LENGTH))
  if (issues.length > MAX_ISSUES) shownIssues.push('and more problems')
  return shownIssues.join('; ')
}

/** A rejection of a request that violates its schema, with its problems (at most the first 50). */
export class InvalidRequest extends Refusal {
  readonly issues: readonly FieldIssue[]
  /** Whether the problems are in the body or in the URL's query. */
  readonly part: 'body' | 'query'

  constructor(status: 400 | 422, issues: readonly FieldIssue[], part: 'body' | 'query' = 'body') {
    super(status, TITLES.validation, textOfIssues(issues))
    this.name = 'InvalidRequest'
    this.part = part
    this.issues = issues.slice(0, MAX_ISSUES)
  }
}

/** Returns a rejection caused by the backend's configuration. Its header confirms that nothing was accepted. */
export const nothingAccepted = (message: string) =>
  new Refusal(503, TITLES.unavailable, message, { [HEADERS.requestAccepted]: 'no' })

/**
 * Returns a temporary rejection. Its header confirms that nothing was accepted, because a 5xx alone doesn't.
 *
 * @param seconds the Retry-After
 */
export const notNow = (message: string, seconds: number) =>
  new Refusal(503, TITLES.unavailable, message, {
    [HEADERS.retryAfter]: String(seconds),
    [HEADERS.requestAccepted]: 'no',
  })

/**
 * Returns a rejection that applies until the operator funds a signer or sets up a network. Its header confirms that
 * nothing was accepted.
 */
export function notReady(message: string, seconds: number): Refusal {
  const { status, title, headers } = notNow(message, seconds)
  return new Refusal(status, title, message, { ...headers, [HEADERS.errorCode]: CHAIN_ERRORS.notReady })
}

export const badRequest = (message: string) => new Refusal(400, TITLES.badRequest, message)

/** Returns a rejection of invalid or inconsistent fields. */
export function refusalOf(issues: readonly FieldIssue[], status: 400 | 422): Refusal {
  const inconsistent = issues.find((issue) => issue.inconsistent)
  return inconsistent === undefined ? new InvalidRequest(status, issues) : badRequest(formatIssue(inconsistent))
}

/**
 * Returns the account's collection that a request specifies. Rejects the request if the collection is on another
 * blockchain. Also rejects the request if it specifies no blockchain and several blockchains have a collection at that
 * address.
 */
export async function findOwnCollection(
  db: Db,
  accountId: string,
  { contractAddress, blockchain }: { contractAddress: string; blockchain?: Blockchain | undefined },
  field = 'contract_address',
): Promise<CollectionRow> {
  const address = canonicalAddress(contractAddress, blockchain ?? blockchainLike(contractAddress))
  const candidates = (await findCollectionsByAddress(db, address)).filter((row) => row.account_id === accountId)
  const [collection, other] = candidates.filter((row) => blockchain === undefined || row.blockchain === blockchain)
  if (other !== undefined) {
    const places = candidates.map((row) => row.blockchain).join(', ')
    throw badRequest(`${field} identifies collections on several blockchains (${places}): add blockchain`)
  }
  if (collection !== undefined) return collection
  const [elsewhere] = candidates
  if (elsewhere === undefined) throw badRequest(`${field} ${contractAddress} is not a collection of this account`)
  throw badRequest(`${field} and blockchain are inconsistent: that collection is on ${elsewhere.blockchain}`)
}
