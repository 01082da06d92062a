import { type CreatingEndpoint, ENDPOINT_NAMES, type EndpointName, loadEndpoints } from '../../src/api/endpoints.ts'

/** The contracts of all endpoints, by name. */
export const ENDPOINTS = await loadEndpoints()

/** The names of the endpoints that create something. */
export const CREATING = ENDPOINT_NAMES.filter(
  (name: EndpointName): name is CreatingEndpoint => ENDPOINTS[name].creates !== null,
)
