import type { Endpoint } from './endpoint.ts'

/**
 * The versions of the API. The paths are the same in all versions, so the API key determines the version (API reference
 * v1.2, Versioning).
 */
export const API_VERSIONS = ['1.1', '1.2'] as const

export type ApiVersion = (typeof API_VERSIONS)[number]

/** The default API version of servers and of client requests. */
export const DEFAULT_API_VERSION: ApiVersion = '1.1'

/** Returns the contract of an endpoint in an API version. */
export const inVersion = (endpoint: Endpoint, version: ApiVersion): Endpoint =>
  version === '1.2' ? { ...endpoint, ...endpoint.v12 } : endpoint
