import { loadEndpoints } from '../../src/api/endpoints.ts'

/** The contracts of all endpoints, by name. */
export const ENDPOINTS = await loadEndpoints()
