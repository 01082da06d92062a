import type * as z from 'zod'
import type { ErrorForm } from './errors.ts'
import type { Permission } from './permissions.ts'

/** Everything that client, server and documentation need to know of one endpoint. All are POST. */
export interface Endpoint<
  Request extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
  Name extends string = string,
  Idempotent extends boolean = boolean,
> {
  readonly name: Name
  readonly path: `/api/v1/${Name}`
  readonly summary: string
  /** The heading that the API documentation lists it under. */
  readonly tag: 'Collections' | 'NFTs' | 'Wallets' | 'Files'
  /** `reference` is api-v1.1.md; `extension` is ours, known to gdn's backend only. */
  readonly origin: 'reference' | 'extension'
  /** All of them are needed. */
  readonly permissions: readonly Permission[]
  /** Requests a second that a key may make; null where the reference names no limit. */
  readonly ratePerSecond: number | null
  readonly errorForm: ErrorForm
  /** HTTP status of a request that breaks the schema. */
  readonly validationStatus: 400 | 422
  /** Whether it honours Idempotency-Key: every creating one does. */
  readonly idempotent: Idempotent
  readonly contentType: 'application/json' | 'multipart/form-data'
  readonly request: Request
  readonly response: Response
  readonly example: { readonly request: z.input<Request>; readonly response: z.input<Response> }
}

type Declared = 'name' | 'summary' | 'permissions' | 'request' | 'response' | 'example'

/** An endpoint with its path and the usual values: about NFTs, form A, 400, no rate limit, JSON, of the reference. */
export function defineEndpoint<
  Request extends z.ZodType,
  Response extends z.ZodType,
  const Name extends string,
  const Idempotent extends boolean = false,
>(
  endpoint: Pick<Endpoint<Request, Response, Name, Idempotent>, Declared> &
    Partial<Omit<Endpoint<Request, Response, Name, Idempotent>, Declared | 'path'>>,
): Endpoint<Request, Response, Name, Idempotent> {
  return {
    path: `/api/v1/${endpoint.name}`,
    tag: 'NFTs',
    origin: 'reference',
    ratePerSecond: null,
    errorForm: 'A',
    validationStatus: 400,
    idempotent: false as Idempotent,
    contentType: 'application/json',
    ...endpoint,
  }
}
