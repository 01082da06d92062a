import * as z from 'zod'

/** Error form A: NFT and collection operations (API reference v1.1, Errors). */
export const errorFormASchema = z.looseObject({ error: z.looseObject({ title: z.string(), message: z.string() }) })

/** Error form B: wallet operations. */
export const errorFormBSchema = z.looseObject({
  errorCode: z.string(),
  message: z.string(),
  detail: z.array(
    z.looseObject({
      loc: z.array(z.union([z.string(), z.number()])),
      msg: z.string(),
      type: z.string(),
      ctx: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
})

export type ErrorFormA = z.output<typeof errorFormASchema>
export type ErrorFormB = z.output<typeof errorFormBSchema>
/** The format of error responses. Endpoints for wallets use form B, and all other routes use form A. */
export type ErrorForm = 'A' | 'B'

/** Titles of error form A, as spelled in the API reference, including its section "not shown". */
export const ERROR_TITLES = {
  badRequest: 'Bad Request',
  validation: 'Request Validation Error',
  unauthorized: 'Unauthorized',
  forbidden: 'Forbidden',
  notFound: 'Not Found',
  conflict: 'Conflict',
  gone: 'Gone',
  precondition: 'Precondition Failed',
  tooLarge: 'Payload Too Large',
  unsupportedMediaType: 'Unsupported Media Type',
  misdirected: 'Misdirected Request',
  tooManyRequests: 'Too Many Requests',
  internal: 'Internal Server Error',
  unavailable: 'Service Unavailable',
} as const

/**
 * Converts a title of form A to an errorCode of form B. For example, `Too Many Requests` becomes `TOO_MANY_REQUESTS`.
 * The title of a schema error becomes `VALIDATION_ERROR`.
 */
export const toErrorCode = (title: string): string =>
  title === ERROR_TITLES.validation ? 'VALIDATION_ERROR' : title.toUpperCase().replaceAll(' ', '_')
