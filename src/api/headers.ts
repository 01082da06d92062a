/** Header names of the API, in the lower case in which Node hands them over. */
export const HEADERS = {
  apiKey: 'x-api-key',
  idempotencyKey: 'idempotency-key',
  idempotencySupported: 'idempotency-supported',
  idempotencyReplayed: 'idempotency-replayed',
  requestId: 'x-request-id',
  rateLimitPolicy: 'ratelimit-policy',
  retryAfter: 'retry-after',
} as const
