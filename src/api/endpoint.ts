import type * as z from 'zod/mini'
import type { Creation } from './creation.ts'
import type { ErrorForm } from './errors.ts'
import type { Permission } from './permissions.ts'

/**
 * Describes an endpoint for the client, the server and the documentation. All endpoints use POST. A schema is from
 * zod/mini or zod. A zod schema has all methods of a zod/mini schema.
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
  /** The group of the endpoint in the API documentation. */
  readonly tag: 'Collections' | 'NFTs' | 'Wallets' | 'Files'
  /**
   * Origin of the endpoint. `reference`: it is in the API reference v1.1 (or v1.2 in `v12`). `extension`: only gdn
   * backends support it.
   */
  readonly origin: 'reference' | 'extension'
  readonly permissions: readonly Permission[]
  /** Whether a key must have all of the permissions or any of them. */
  readonly needs: 'all' | 'any'
  /** Allowed requests per second for each key; null if the reference has no limit. */
  readonly ratePerSecond: number | null
  readonly errorForm: ErrorForm
  /** HTTP status of the response to a request that violates the schema. */
  readonly validationStatus: 400 | 422
  /**
   * Describes what the endpoint creates; null if it creates nothing. Only endpoints that create something honor
   * Idempotency-Key.
   */
  readonly creates: Creates
  readonly contentType: 'application/json' | 'multipart/form-data'
  readonly request: Request
  readonly response: Response
  readonly example: { readonly request: z.input<Request>; readonly response: z.input<Response> }
  /** The differences in v1.2 of the API reference. Everything else applies to both v1.1 and v1.2. */
  readonly v12: Partial<Pick<Endpoint, 'request' | 'validationStatus' | 'origin' | 'example'>>
}

type RequiredKey = 'name' | 'summary' | 'permissions' | 'request' | 'response' | 'example'

type Declaration<Request extends z.ZodMiniType, Response extends z.ZodMiniType, Name extends string> = Pick<
  Endpoint<Request, Response, Name>,
  RequiredKey
> &
  Partial<Omit<Endpoint<Request, Response, Name>, RequiredKey | 'path' | 'creates'>>

/**
 * Defines an endpoint with its path and these defaults: tag NFTs, origin `reference`, all permissions required, no rate
 * limit, error form A, validation status 400, JSON, and no differences in v1.2.
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

/** Returns an example for an endpoint whose response repeats the request in `requests`. */
export const exampleOf = <Request, Rest>(request: Request, rest: Rest) => ({
  request,
  response: { requests: request, ...rest },
})

/** Like `defineEndpoint`, for an endpoint that creates something. */
export function defineCreatingEndpoint<
  Request extends z.ZodMiniType,
  Response extends z.ZodMiniType,
  const Name extends string,
>(
  endpoint: Declaration<Request, Response, Name> & { creates: Creation<z.output<Request>, z.output<Response>> },
): Endpoint<Request, Response, Name, Creation> {
  return { ...defineEndpoint(endpoint), creates: endpoint.creates }
}
