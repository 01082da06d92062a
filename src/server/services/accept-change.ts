import type { Blockchain } from '../../api/blockchains.ts'
import { type OperationEndpoint, type OperationFields, operationDigest } from '../../api/operation-digest.ts'
import { newId } from '../../core/ids.ts'
import type { CollectionRow } from '../store/collections.ts'
import type { Db } from '../store/schema.ts'
import { accept } from './accept.ts'
import { findOwnCollection } from './find-own-collection.ts'
import { prepareCostCheck, startChange, storeRefusedLimit } from './limit-cost.ts'
import {
  acceptedFields,
  claimReferences,
  type ExistingOperation,
  findExistingOperations,
  operationIdOf,
} from './references.ts'
import { refuseValue } from './refuse-value.ts'
import { requireChain } from './require-chain.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

/**
 * A change to NFTs or a commitment to a provenance hash. Its members define the behavior that differs between
 * endpoints.
 */
interface Change<Name extends OperationEndpoint, Echo, Prepared> {
  operation: Name
  /** The fields that identify the operation by its digest. */
  fields: OperationFields[Name]
  /** The fields of the request that the response repeats. */
  echo: Echo
  /**
   * Finds the accepted change with the same content. Present for changes that can be made only once even without a
   * reference ID.
   */
  findExisting?(db: Db, collection: CollectionRow): Promise<ExistingOperation | null>
  /**
   * Runs the checks that need only the database. Called before the backend checks that the chain is available.
   *
   * @throws Refusal
   */
  checkInDatabase?(collection: CollectionRow): Promise<void>
  /**
   * Runs the checks outside of the database transaction.
   *
   * @throws Refusal
   */
  check(collection: CollectionRow): Promise<Prepared>
  write(
    db: Db,
    rows: {
      id: string
      request_id: string
      reference_id: string | null
      collection: CollectionRow
      acceptedAt: number
      prepared: Prepared
    },
  ): Promise<void>
  onAccepted(collectionId: string, prepared: Prepared): void
}

interface ChangeRequest {
  contract_address: string
  blockchain?: Blockchain | undefined
  reference_id?: string | undefined
}

/** Accepts a change. If the reference ID already has an operation, returns that operation without changing anything. */
export async function acceptChange<Name extends OperationEndpoint, Echo extends object, Prepared>(
  deps: ServiceDeps,
  request: ServiceRequest<ChangeRequest>,
  change: Change<Name, Echo, Prepared>,
) {
  const { operation, fields, echo } = change
  const { store, now } = deps
  const { accountId, parsed, run } = request
  const { contract_address: contractAddress, blockchain, reference_id } = parsed
  const acceptedAt = now()
  const references = reference_id === undefined ? [] : [{ reference_id, digest: operationDigest(operation, fields) }]
  const findCollection = () => findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  const responseFor = (operation: string | ExistingOperation) => ({
    requests: { ...echo, reference_id },
    response: { transaction_gdn_id: operationIdOf(operation), ...acceptedFields(operation, acceptedAt, reference_id) },
  })
  let wakePipeline = () => {}
  const accepted = await accept(store, { ...request, endpoint: operation }, acceptedAt, {
    async findExisting() {
      if (reference_id === undefined) return null
      const scope = { scope_id: (await findCollection()).id, operation }
      const [existing] = (await findExistingOperations(store.db, scope, references)) ?? []
      return existing === undefined ? null : responseFor(existing)
    },
    async prepare() {
      const collection = await findCollection()
      const { blockchain } = collection
      refuseValue(deps, request, blockchain)
      await change.checkInDatabase?.(collection)
      await requireChain(deps, blockchain)
      const prepared = await change.check(collection)
      return { collection, prepared, costCheck: await prepareCostCheck(deps, request, blockchain) }
    },
    async write(db, request_id, { collection, prepared, costCheck }) {
      const existingChange = (await change.findExisting?.(db, collection)) ?? null
      const id = existingChange?.target_id ?? newId()
      const scope = { scope_id: collection.id, operation }
      const claims = references.map((reference) => ({ ...reference, target_id: id }))
      const existing = (await claimReferences(db, scope, claims)).get(reference_id ?? '') ?? existingChange
      if (existing !== null) return responseFor(existing)
      const reference = reference_id ?? null
      await change.write(db, { id, request_id, reference_id: reference, collection, acceptedAt, prepared })
      await startChange(db, { accountId, run, requestId: request_id, acceptedAt, costCheck }, collection)
      wakePipeline = () => change.onAccepted(collection.id, prepared)
      return responseFor(id)
    },
    onRejected: (error, { collection, costCheck }) =>
      storeRefusedLimit(deps, error, costCheck, { accountId, run, collectionId: collection.id, at: acceptedAt }),
  })
  wakePipeline()
  return accepted
}
