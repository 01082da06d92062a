import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS, REFERENCE_ERRORS } from '../../api/headers.ts'
import { formatUtcTime } from '../../core/time.ts'
import {
  addReferences,
  createsNfts,
  filterPossiblyMinted,
  findReferences,
  type KnownReference,
  type NewReference,
  type ReferenceScope,
  replaceReference,
} from '../store/references.ts'
import type { Db } from '../store/schema.ts'
import { Refusal } from './refusals.ts'

/** A reference ID in a request, with the digest of the operation. */
export type WantedReference = Omit<NewReference, 'target_id'>

/** The existing operation of a reference ID. */
export interface KnownOperation extends KnownReference {
  /** Whether the operation failed without effect, so that the next operation with this reference ID replaces it. */
  isFree: boolean
}

/** The fields that every existing operation has. */
export type ExistingOperation = Pick<KnownOperation, 'target_id' | 'accepted_at'>

/**
 * Returns the scope of reference IDs in a collection. createnft and creatednft share a scope, so that a client can't
 * create an NFT twice by requesting it again as a dynamic NFT.
 */
export const toReferenceScope = (scope_id: string, operation: ReferenceScope['operation']): ReferenceScope => ({
  scope_id,
  operation: operation === 'creatednft' ? 'createnft' : operation,
})

/**
 * Rejects a request that has a reference ID twice.
 *
 * @throws Refusal 422
 */
export function refuseRepeated(ids: readonly string[]): void {
  const seenIds = new Set<string>()
  for (const [index, id] of ids.entries()) {
    if (seenIds.has(id)) {
      const message = `reference_ids[${index}] repeats "${id}": each NFT needs its own reference ID`
      throw new Refusal(422, ERROR_TITLES.validation, message, { [HEADERS.errorCode]: REFERENCE_ERRORS.repeated })
    }
    seenIds.add(id)
  }
}

/** Returns the operations of reference IDs, by reference ID. Omits unknown IDs. */
export async function lookUpReferences(
  db: Db,
  scope: ReferenceScope,
  ids: readonly string[],
): Promise<Map<string, KnownOperation>> {
  const rows = await findReferences(db, scope, ids)
  const failed = rows.filter(({ status }) => status === 'failed').map(({ target_id }) => target_id)
  const possiblyMinted = createsNfts(scope.operation) ? await filterPossiblyMinted(db, failed) : new Set()
  const knownOperations = rows.map((row) => ({
    ...row,
    isFree: row.status === 'failed' && !possiblyMinted.has(row.target_id),
  }))
  return new Map(knownOperations.map((row) => [row.reference_id, row]))
}

/**
 * Returns the operations of a request's reference IDs, in order, if all of them exist with the same digests. In that
 * case, nothing has to be created. Returns null if a reference ID is unknown or free.
 *
 * @throws Refusal 409 if a reference ID belongs to another operation or has a different label
 */
export async function findExistingOperations(
  db: Db,
  scope: ReferenceScope,
  references: readonly WantedReference[],
): Promise<KnownOperation[] | null> {
  const ids = references.map(({ reference_id }) => reference_id)
  const operationsById = await lookUpReferences(db, scope, ids)
  refuseConflicts(scope, references, operationsById)
  const existingOperations = ids.flatMap((id) => {
    const operation = operationsById.get(id)
    return operation === undefined || operation.isFree ? [] : [operation]
  })
  return existingOperations.length === ids.length ? existingOperations : null
}

/**
 * Assigns a request's operations to their reference IDs. Returns the operations that already exist, whose reference IDs
 * stay unchanged. Call this function in the transaction that creates the new operations.
 *
 * @throws Refusal 409 if a reference ID belongs to another operation or has a different label
 */
export async function claimReferences(
  db: Db,
  scope: ReferenceScope,
  operations: readonly NewReference[],
): Promise<Map<string, KnownOperation>> {
  // Sort the operations, so that two processes can't deadlock.
  const sorted = [...operations].sort((a, b) => (a.reference_id < b.reference_id ? -1 : 1))
  const existing = new Map<string, KnownOperation>()
  if (sorted.length === 0) return existing
  const claimed = await addReferences(db, scope, sorted)
  let unclaimed = sorted.filter(({ reference_id }) => !claimed.has(reference_id))
  while (unclaimed.length > 0) {
    const ids = unclaimed.map(({ reference_id }) => reference_id)
    const operationsById = await lookUpReferences(db, scope, ids)
    refuseConflicts(scope, operations, operationsById)
    const lost: NewReference[] = []
    for (const operation of unclaimed) {
      const existingOperation = operationsById.get(operation.reference_id)
      if (existingOperation === undefined)
        throw new Error(`the reference ID ${operation.reference_id} is in use, but its operation is unknown`)
      if (!existingOperation.isFree) existing.set(existingOperation.reference_id, existingOperation)
      else if (!(await replaceReference(db, scope, operation, existingOperation.target_id))) lost.push(operation)
    }
    unclaimed = lost
  }
  return existing
}

/** Maximum number of conflicts in a response. */
const MAX_CONFLICTS = 50

function refuseConflicts(
  { operation }: ReferenceScope,
  references: readonly WantedReference[],
  operationsById: ReadonlyMap<string, KnownOperation>,
): void {
  refuseLabelConflicts({ operation }, references, operationsById)
  const conflicts = references.flatMap(({ reference_id, digest: request_digest }, index) => {
    const existingOperation = operationsById.get(reference_id)
    if (existingOperation === undefined || existingOperation.isFree || existingOperation.digest === request_digest)
      return []
    const { status, digest } = existingOperation
    return [{ reference_id, index, ...targetIdField({ operation }, existingOperation), status, digest, request_digest }]
  })
  const [first] = conflicts
  if (first === undefined) return
  const { reference_id, digest, request_digest } = first
  const field = createsNfts(operation) ? `reference_ids[${first.index}]` : 'reference_id'
  const target = operationsById.get(reference_id)?.target_id
  const problem = `${field} "${reference_id}" belongs to another operation: ${target} has the digest ${digest}, but this request has ${request_digest}`
  throw conflictError(REFERENCE_ERRORS.conflict, problem, conflicts)
}

/**
 * Rejects reference IDs that have a different label. Labels are compared only if both the request and the stored
 * reference ID have one.
 *
 * @throws Refusal 409 if a reference ID has a different label
 */
export function refuseLabelConflicts(
  { operation }: Pick<ReferenceScope, 'operation'>,
  references: readonly Pick<WantedReference, 'reference_id' | 'label'>[],
  operationsById: ReadonlyMap<string, KnownOperation>,
): void {
  const conflicts = references.flatMap(({ reference_id, label: request_label = null }, index) => {
    const existingOperation = operationsById.get(reference_id)
    if (existingOperation === undefined || existingOperation.isFree || request_label === null) return []
    const { status, label: reference_label = null } = existingOperation
    if (reference_label === null || reference_label === request_label) return []
    return [
      {
        reference_id,
        index,
        ...targetIdField({ operation }, existingOperation),
        status,
        reference_label,
        request_label,
      },
    ]
  })
  const [first] = conflicts
  if (first === undefined) return
  const { reference_id, index, reference_label, request_label } = first
  const problem = `reference_ids[${index}] "${reference_id}" has the label ${JSON.stringify(reference_label)}, but this request has ${JSON.stringify(request_label)}`
  throw conflictError(REFERENCE_ERRORS.otherLabel, problem, conflicts)
}

/**
 * Returns the rejection for conflicting reference IDs.
 *
 * @param problem a description of the first conflict
 */
function conflictError(code: string, problem: string, conflicts: readonly object[]): Refusal {
  const more = conflicts.length === 1 ? '' : `, and ${conflicts.length - 1} more`
  return new Refusal(
    409,
    ERROR_TITLES.conflict,
    `${problem}${more}; nothing was accepted`,
    { [HEADERS.errorCode]: code },
    { conflict_count: conflicts.length, conflicts: conflicts.slice(0, MAX_CONFLICTS) },
  )
}

/** Returns the ID of a reference's operation, in the field that the API uses for this operation. */
export const targetIdField = ({ operation }: Pick<ReferenceScope, 'operation'>, { target_id }: NewReference) =>
  createsNfts(operation) ? { nft_gdn_id: target_id } : { transaction_gdn_id: target_id }

/**
 * Returns the fields that a response adds to the ID of a new or existing operation.
 *
 * @param reference_id the request's reference ID, if it has one
 */
export const acceptedFields = (
  operation: string | ExistingOperation,
  acceptedAt: number,
  reference_id: string | undefined,
) => {
  const created = typeof operation === 'string'
  return {
    accepted_date: formatUtcTime(created ? acceptedAt : operation.accepted_at),
    ...(reference_id === undefined ? {} : { reference_id, created }),
  }
}

/** Returns the ID of a new or existing operation. */
export const operationIdOf = (operation: string | ExistingOperation): string =>
  typeof operation === 'string' ? operation : operation.target_id
