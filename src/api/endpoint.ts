import type * as z from 'zod/mini'
import type { Creation } from './creation.ts'
import type { ErrorForm } from './errors.ts'
import type { Permission } from './permissions.ts'

/**
 * Everything that client, server and documentation need to know about one endpoint. All are POST. The schemas are of
 * zod/mini or of zod, whose schemas have the same methods and more.
 */
export interface Endpoint<
  Request extends z.ZodMiniType = z.ZodMiniType,
  Response extends z.ZodMiniType = z.ZodMiniType,
  Name extends string = string,
  Creates extends Creation | null = Creation | null,
> {
  readonly name: Name
  readonly path: `/api/v1/${Name}`
  readonly summary: string
  /** The heading that the API documentation lists it under. */
  readonly tag: 'Collections' | 'NFTs' | 'Wallets' | 'Files'
  /** `reference` is the API reference v1.1 (in `v12`, v1.2). `extension` is ours, supported by gdn's backend only. */
  readonly origin: 'reference' | 'extension'
  readonly permissions: readonly Permission[]
  /** Whether all of the permissions are required, or any of them. */
  readonly needs: 'all' | 'any'
  /** Allowed requests per second for each key; null if the reference has no limit. */
  readonly ratePerSecond: number | null
  readonly errorForm: ErrorForm
  /** HTTP status of a request that breaks the schema. */
  readonly validationStatus: 400 | 422
  /** Set for an endpoint that creates something. Exactly these honor Idempotency-Key. */
  readonly creates: Creates
  readonly contentType: 'application/json' | 'multipart/form-data'
  readonly request: Request
  readonly response: Response
  readonly example: { readonly request: z.input<Request>; readonly response: z.input<Response> }
  /** The differences in the API reference v1.2. The rest of the contract is the same in v1.1 and v1.2. */
  readonly v12: Partial<Pick<Endpoint, 'request' | 'validationStatus' | 'origin' | 'example'>>
}

type RequiredKey = 'name' | 'summary' | 'permissions' | 'request' | 'response' | 'example'

type Declaration<Request extends z.ZodMiniType, Response extends z.ZodMiniType, Name extends string> = Pick<
  Endpoint<Request, Response, Name>,
  RequiredKey
> &
  Partial<Omit<Endpoint<Request, Response, Name>, RequiredKey | 'path' | 'creates'>>

/**
 * Defines an endpoint with its path and the defaults: NFTs, all permissions, form A, 400, no rate limit, JSON, of the
 * reference, the same in v1.2.
 */
export function defineEndpoint<
  Request extends z.ZodMiniType,
  Response extends z.ZodMiniType,
  const Name extends string,
>(endpoint: Declaration<Request, Response, Name>): Endpoint<Request, Response, Name, null> {
  return {
    path: `/api/v1/${endpoint.name}`,
    tag: 'NFTs',
    origin: 'reference',
    needs: 'all',
    ratePerSecond: null,
    errorForm: 'A',
    validationStatus: 400,
    creates: null,
    contentType: 'application/json',
    v12: {},
    ...endpoint,
  }
}

/** As `defineEndpoint`, for an endpoint that creates something. */
export function defineCreatingEndpoint<
  Request extends z.ZodMiniType,
  Response extends z.ZodMiniType,
  const Name extends string,
>(
  endpoint: Declaration<Request, Response, Name> & { creates: Creation<z.output<Request>, z.output<Response>> },
): Endpoint<Request, Response, Name, Creation> {
  return { ...defineEndpoint(endpoint), creates: endpoint.creates }
}
