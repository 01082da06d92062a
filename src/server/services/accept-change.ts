import type { Blockchain } from '../../api/blockchains.ts'
import { type Operation, type OperationFields, operationDigest } from '../../api/operation-digest.ts'
import { newId } from '../../core/ids.ts'
import type { CollectionRow } from '../store/collections.ts'
import type { Db } from '../store/schema.ts'
import { accept } from './accept.ts'
import { findOwnCollection } from './find-collection.ts'
import { keepRefusedLimit, prepareCostCheck, startChange } from './limit-cost.ts'
import { claimReferences, type Existing, findAllNamed, idOf, showAccepted } from './references.ts'
import { refuseValue } from './refuse-value.ts'
import { requireChain } from './require-chain.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

/** A change of NFTs, or of what is known of them, by one transaction: what differs between its endpoints. */
interface Change<Name extends Operation, Echo, Prepared> {
  operation: Name
  /** The identity of the operation. */
  fields: OperationFields[Name]
  /** The fields of the request that the response repeats. */
  echo: Echo
  /** Finds the same change without a reference ID, if it is made once only. */
  existing?(db: Db, collection: CollectionRow): Promise<Existing | null>
  /** Checks outside of the database transaction. @throws Refusal */
  check(collection: CollectionRow): Promise<Prepared>
  /** Adds the rows. */
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
  /** Wakes the pipeline. */
  accepted(collectionId: string, prepared: Prepared): void
}

interface Parsed {
  contract_address: string
  reference_id?: string | undefined
}

/** Accepts a change of existing NFTs. A change whose reference ID exists is returned, not made again. */
export async function acceptChange<Name extends Operation, Echo extends object, Prepared>(
  deps: ServiceDeps,
  request: ServiceRequest<Parsed>,
  { operation, fields, echo, existing: find, check, write, accepted: wake }: Change<Name, Echo, Prepared>,
) {
  const { store, now } = deps
  const { accountId, parsed, body, idempotencyKey, requestId, run, maxCost } = request
  const { contract_address: contractAddress, reference_id } = parsed
  const acceptedAt = now()
  const references = reference_id === undefined ? [] : [{ reference_id, digest: operationDigest(operation, fields) }]
  const findCollection = () => findOwnCollection(store.db, accountId, { contractAddress })
  const answer = (known: string | Existing) => ({
    requests: { ...echo, ...(reference_id === undefined ? {} : { reference_id }) },
    response: { transaction_gdn_id: idOf(known), ...showAccepted(known, acceptedAt, reference_id) },
  })
  let notify = () => {}
  const accepted = await accept(
    store,
    { accountId, endpoint: operation, body, idempotencyKey, requestId, run },
    acceptedAt,
    {
      async findExisting() {
        if (reference_id === undefined) return null
        const scope = { scope_id: (await findCollection()).id, operation }
        const [known] = (await findAllNamed(store.db, scope, references)) ?? []
        return known === undefined ? null : answer(known)
      },
      async prepare() {
        const collection = await findCollection()
        const blockchain = collection.blockchain as Blockchain
        refuseValue(deps, request, blockchain)
        await requireChain(deps, blockchain)
        const prepared = await check(collection)
        return {
          collection,
          prepared,
          costCheck: await prepareCostCheck(deps, { accountId, run, maxCost }, blockchain),
        }
      },
      async write(db, request_id, { collection, prepared, costCheck }) {
        const made = (await find?.(db, collection)) ?? null
        const id = made?.target_id ?? newId()
        const scope = { scope_id: collection.id, operation }
        const named = references.map((reference) => ({ ...reference, target_id: id }))
        const existing = (await claimReferences(db, scope, named)).get(reference_id ?? '')
        if (existing !== undefined) return answer(existing)
        if (made !== null) return answer(made)
        const reference = reference_id ?? null
        await write(db, { id, request_id, reference_id: reference, collection, acceptedAt, prepared })
        await startChange(db, { accountId, run, requestId: request_id, acceptedAt, costCheck }, collection)
        notify = () => wake(collection.id, prepared)
        return answer(id)
      },
      rejected: (error, { collection, costCheck }) =>
        keepRefusedLimit(deps, error, costCheck, { accountId, run, collectionId: collection.id, at: acceptedAt }),
    },
  )
  notify()
  return accepted
}
