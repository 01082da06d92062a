import type * as z from 'zod'
import type { ErrorForm } from './errors.ts'
import type { Permission } from './permissions.ts'

/** Everything that client, server and documentation need to know of one endpoint. All are POST. */
export interface Endpoint<Request extends z.ZodType = z.ZodType, Response extends z.ZodType = z.ZodType> {
  readonly name: string
  readonly path: `/api/v1/${string}`
  readonly summary: string
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
  readonly idempotent: boolean
  readonly contentType: 'application/json' | 'multipart/form-data'
  readonly request: Request
  readonly response: Response
  readonly example: { readonly request: z.input<Request>; readonly response: z.input<Response> }
}

type Declared = 'name' | 'path' | 'summary' | 'permissions' | 'request' | 'response' | 'example'

/** An endpoint with the usual values filled in: form A, 400, no rate limit, JSON, of the reference. */
export function defineEndpoint<Request extends z.ZodType, Response extends z.ZodType>(
  endpoint: Pick<Endpoint<Request, Response>, Declared> & Partial<Omit<Endpoint<Request, Response>, Declared>>,
): Endpoint<Request, Response> {
  return {
    origin: 'reference',
    ratePerSecond: null,
    errorForm: 'A',
    validationStatus: 400,
    idempotent: false,
    contentType: 'application/json',
    ...endpoint,
  }
}
